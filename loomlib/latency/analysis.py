"""The views on a latency study's result, by the names under which `StudyRecord` calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loomlib.presentation.html import fragment

from .export import details
from .figures import figures, floor_note
from .findings import findings
from .method import method
from .result import StudyResult
from .sentences import sentences
from .tables import table

if TYPE_CHECKING:
    from markupsafe import Markup


__all__ = ["details", "figures", "findings", "method", "sections", "sentences", "table"]


def sections(result: StudyResult) -> list[Markup]:
    """Return the note on the harness floor as HTML."""
    return [fragment("loomlib.latency:floor.html.j2", note=floor_note(result.floor))]
