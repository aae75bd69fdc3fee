"""The alignment of expected and actual tool calls as static HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from loomlib.presentation.html import fragment

from ..matching.alignment import ROW_SIGNS

_TONES: Final[Mapping[str, str]] = {
    "kept": "transparent",
    "changed": "#f2c74455",
    "moved": "#4c8dd655",
    "missing": "#d6584c44",
    "extra": "#8a63d244",
}


def alignment_html(table: Sequence[Mapping[str, Any]], sentence: str = "") -> str:
    """Render an alignment as a table; kinds are distinguished by words and signs, not by colour alone.

    Args:
        table: The alignment's rows.
        sentence: A caption.
    """
    return fragment(
        "loomlib.evals:alignment.html.j2", rows=table, sentence=sentence, tones=_TONES, signs=ROW_SIGNS
    )  # fmt: skip
