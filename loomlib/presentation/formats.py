"""Numbers as a reader wants them: sensible digits, thin spaces between thousands, units, intervals."""

from __future__ import annotations

THIN_SPACE = "\u202f"
"""A narrow space that never breaks a line, between thousands."""

TOO_SMALL = "n too small"


def decimals(value: float) -> int:
    """How many decimals `value` deserves: two below 1, one below 100, none from there."""
    size = abs(value)
    return 2 if size < 1 else 1 if size < 100 else 0


def number(value: float, digits: int | None = None) -> str:
    """`value` as text: 0.42, 6.1, 318, 12 345. `digits` fixes the decimals, to line numbers up with each other."""
    text = f"{value:,.{decimals(value) if digits is None else digits}f}".replace(",", THIN_SPACE)
    return text.removeprefix("-") if text.strip("-0.") == "" else text.replace("-", "−")


def milliseconds(value: float) -> str:
    """A duration given in milliseconds, with its unit: 6.1 ms, 318 ms, 12 345 ms."""
    return f"{number(value)} ms"


def seconds(value: float) -> str:
    """A duration given in seconds, as a person says it: 14 s, 2 min 05 s, 1 h 12 min."""
    whole = round(value)
    if whole < 60:
        return f"{number(value)} s" if value < 1 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def percent(share: float) -> str:
    """A share between 0 and 1 as a percentage; small ones keep a decimal, so that only nothing reads as zero."""
    value = share * 100
    if 0 < value < 0.1:
        return "under 0.1 %"
    return f"{number(value, 1 if 0 < value < 1 else 0)} %"


def plural(count: int, word: str) -> str:
    """`1 call`, `3 calls`, `12 345 calls`."""
    return f"{number(count, 0)} {word}" if count == 1 else f"{number(count, 0)} {word}s"
