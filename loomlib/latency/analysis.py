"""The views on a latency study's result, by the names under which `StudyRecord` calls them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .export import details
from .figures import figures, floor_note
from .findings import findings
from .method import method
from .sentences import sentences
from .tables import table

if TYPE_CHECKING:
    from .result import StudyResult

__all__ = ["details", "figures", "findings", "method", "sections", "sentences", "table"]


def sections(result: StudyResult) -> list[str]:
    """Return the note on the harness floor as HTML."""
    return [f'<div class="loom-quiet">{escape(floor_note(result.floor))}</div>']
