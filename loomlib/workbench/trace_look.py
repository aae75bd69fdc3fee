"""Names, colours and patterns of an invocation's parts, the same on every page."""

from __future__ import annotations

from typing import Final

from ..presentation.formats import percent as share
from ..telemetry.traces.part_styles import PART_COLOURS, PART_NAMES, PART_PATTERNS

__all__ = ["LONGEST_LABEL", "PART_COLOURS", "PART_NAMES", "PART_PATTERNS", "label", "share"]

LONGEST_LABEL: Final = 80


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """Return untrusted text as one line without control characters, cut when long; the caller must escape it."""
    plain = "".join(char if char.isprintable() else " " for char in text[: longest + 1])
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"
