"""How the parts of an invocation look and are called: the same on every page, never told by colour alone."""

from __future__ import annotations

from typing import Final

PART_NAMES: Final = {
    "cold_start": "cold start",
    "service_network": "service and network",
    "agent": "agent overhead",
    "model": "model",
    "tools": "tools",
    "memory": "memory",
    "unknown": "unknown",
}
PART_COLOURS: Final = {
    "cold_start": "#56B4E9",
    "service_network": "#9aa3b2",
    "agent": "#0072B2",
    "model": "#E69F00",
    "tools": "#009E73",
    "memory": "#CC79A7",
    "unknown": "#c9ccd3",
}
"""Okabe and Ito's colours (Color Universal Design, 2008), and greys for what lies outside the agent."""

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
