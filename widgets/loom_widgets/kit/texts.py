"""Untrusted texts made safe for a message to a page or for a file name."""

from __future__ import annotations

import json
from typing import Final

from loomlib.presentation.formats import number

LONGEST_VALUE: Final = 4_000
"""Largest number of characters of a value that is sent to a page."""


def well_formed(text: str) -> str:
    """Replace lone surrogates, which a message cannot contain, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def short_text(value: object) -> str:
    """Return a value as text: JSON unless it is already a string; long texts are cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    more = len(text) - LONGEST_VALUE
    return well_formed(text) if more <= 0 else f"{well_formed(text[:LONGEST_VALUE])}… ({number(more)} more)"
