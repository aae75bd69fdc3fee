"""How the parts of an invocation look and are called: the same on every page, never told by colour alone."""

from __future__ import annotations

from typing import Final

from ..telemetry.traces.part_styles import PART_COLOURS, PART_NAMES, PART_PATTERNS

__all__ = ["LONGEST_LABEL", "PART_COLOURS", "PART_NAMES", "PART_PATTERNS", "label", "share"]

LONGEST_LABEL: Final = 80


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """A stranger's text for a reader: one line, without control characters, cut when long. Still to be escaped."""
    plain = "".join(char if char.isprintable() else " " for char in text[: longest + 1])
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def share(value: float) -> str:
    """A share for people: `95.5 %`, `0.07 %`, `0 %`."""
    if value == 0:
        return "0 %"
    return f"{value * 100:.2f} %" if value < 0.001 else f"{value * 100:.1f} %"
