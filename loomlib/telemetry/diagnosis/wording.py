"""Formats of a finding's figures, and foreign names in one bounded line."""

from __future__ import annotations

from ...presentation.formats import milliseconds, number, percent, plural

__all__ = ["milliseconds", "name_of", "number", "percent", "plural"]

_LONGEST_NAME = 80


def name_of(text: str) -> str:
    """A stranger's name in one line of bounded length; control characters go."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 1] + "…"
