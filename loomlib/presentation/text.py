"""Untrusted text, such as an agent's answer or a resource's name, made safe to print, and plain-text tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from .formats import NARROW_SPACE, cell, number

LONGEST_TEXT: Final = 20_000
"""Largest number of characters of a text that a card shows."""

_ALLOWED = f"\n\t\u00a0{NARROW_SPACE}"


def printable(text: str) -> str:
    """Replace unprintable text, such as control characters and lone surrogates, by U+FFFD; tabs and newlines stay."""
    return "".join(char if char.isprintable() or char in _ALLOWED else "\N{REPLACEMENT CHARACTER}" for char in text)


def one_line(text: str, longest: int = 80) -> str:
    """Return `text` as one printable line of at most `longest` characters, an ellipsis included."""
    stripped = text.strip()
    line = printable(re.sub(r"[ \t\r\n\f\v]+", " ", stripped[: 4 * longest]).strip())
    is_whole = len(line) <= longest and len(stripped) <= 4 * longest
    return line if is_whole else f"{line[: longest - 1]}…"


def cut(text: str, longest: int = LONGEST_TEXT, *, rest: str = "") -> str:
    """Cut a long text and say how much is missing.

    Args:
        text: The text.
        longest: Characters to keep.
        rest: Where the reader finds the whole text, such as `.text`.
    """
    excess = len(text) - longest
    if excess <= 0:
        return text
    where = f"; all of them are in {rest}" if rest else ""
    return f"{text[:longest]}\n… {number(excess)} more characters{where}"


def text_table(head: Sequence[str], rows: Iterable[Sequence[object]], *, more: int = 0, longest: int = 60) -> str:
    """Format rows as aligned plain text.

    Args:
        head: Column titles.
        rows: Values, formatted as `formats.cell` does; long cells are cut.
        more: How many rows are left out; stated in a last line.
        longest: Largest number of characters of a cell.
    """
    cells = [list(head), *([one_line(cell(value), longest) for value in row] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(head))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([*lines, *([f"… {number(more)} more rows"] if more > 0 else [])])
