"""An agent's words made fit to be shown to a judge: readable, bounded, and between fences that they cannot forge."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

PART_LIMIT: Final = 60_000
"""Characters of one part that a judge is shown; of a longer one its beginning and its end."""

_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters: terminals and null bytes
    "\ud800-\udfff"  # halves of characters, which no UTF-8 has
    "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # invisible, or turning the direction of what follows
    "\U000e0000-\U000e007f]"  # tags: text that a model reads and a person does not see
)

_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def readable(text: str) -> str:
    """`text` with line ends alike and with U+FFFD for everything that a person would not see."""
    return _UNREADABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def folded(text: str, limit: int = PART_LIMIT) -> str:
    """`text`, with its middle left out (and the gap said) when it is longer than `limit` characters.

    What stands after the gap begins with "…": a piece of a line does not look like a line of its own.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n…{text[-half:]}"


def one_entry(text: str) -> str:
    """`text` as one entry of a list of steps: only its first line begins where entries do, the others are indented."""
    return _LINE_END.sub("\n    ", text)


def make_fence(texts: Sequence[str]) -> str:
    """A line's beginning that occurs in none of `texts`: 128 random bits, so that no answer can foresee it."""
    while True:
        fence = f"#loom-part-{secrets.token_hex(16)}#"
        if not any(fence in text for text in texts):
            return fence
