"""Prepare an agent's text for a judge: readable, bounded, and between markers that the text cannot forge."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

PART_LIMIT: Final = 60_000
"""Maximum number of characters of one part shown to a judge; a longer part is cut to its beginning and end."""

_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters: terminals and null bytes
    "\ud800-\udfff"  # lone surrogates, which UTF-8 cannot encode
    "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # invisible characters and direction marks
    "\U000e0000-\U000e007f]"  # tag characters: text that a model reads and a person does not see
)

_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def readable(text: str) -> str:
    """Return `text` with uniform line ends, and U+FFFD for every character that a person would not see."""
    return _UNREADABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def folded(text: str, limit: int = PART_LIMIT) -> str:
    """Return `text`, with its middle replaced by a note when it is longer than `limit` characters.

    A marker states how much was left out. The text after the gap begins with "…", so that a fragment of a line does not
    look like a line of its own.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n…{text[-half:]}"


def one_entry(text: str) -> str:
    """Return `text` as one entry of a list of steps: all lines but the first are indented."""
    return _LINE_END.sub("\n    ", text)


def make_fence(texts: Sequence[str]) -> str:
    """Return a line prefix that occurs in none of `texts`: 128 random bits, so that no answer can predict it."""
    while True:
        fence = f"#loom-part-{secrets.token_hex(16)}#"
        if not any(fence in text for text in texts):
            return fence
