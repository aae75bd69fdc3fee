"""Numbers in the words of a finding."""

from __future__ import annotations

_LONGEST_NAME = 80


def milliseconds(ms: float) -> str:
    """`120 ms`, `4.6 s`, `3 min 20 s`."""
    if ms < 9.95:
        return f"{ms:.1f} ms"
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 100_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms / 60_000:.0f} min {ms % 60_000 / 1000:.0f} s"


def number(value: float) -> str:
    """With a comma at the thousands."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """`4.4 %` below ten, `95 %` above."""
    return f"{share * 100:.1f} %" if abs(share) < 0.0995 else f"{share * 100:.0f} %"


def plural(count: int, noun: str) -> str:
    """`1 call`, `3 calls`."""
    if count == 1:
        return f"1 {noun}"
    return f"{number(count)} {noun[:-1]}ies" if noun.endswith("ry") else f"{number(count)} {noun}s"


def name_of(text: str) -> str:
    """A stranger's name in one line of bounded length; control characters go."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return plain if len(plain) <= _LONGEST_NAME else plain[: _LONGEST_NAME - 1] + "…"
