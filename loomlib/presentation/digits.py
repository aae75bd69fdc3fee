"""Digits of numbers: rounding, a fixed number of decimals, separated thousands and scientific notation.

`formats` builds every text with a figure from these functions; displays call `formats`.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

NARROW_SPACE: Final = "\u202f"
"""Separates thousands (U+202F, narrow no-break space)."""

MISSING: Final = "–"
"""Shown in place of a missing value."""

RealNumber = int | float | Decimal

_TWO_DIGITS = Context(prec=2, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=330)  # no float has more digits before the decimal point
_QUANTA = [Decimal(1).scaleb(-decimals) for decimals in range(16)]


def special_text(value: RealNumber | None) -> str | None:
    """Return the text of a value without digits: missing, or infinite."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return None


def rounded(value: RealNumber, decimals: int) -> Decimal:
    """Round half up, exactly on the value that the float holds."""
    return Decimal(value).quantize(_QUANTA[decimals], ROUND_HALF_UP, _EXACT)


def fixed(value: RealNumber, decimals: int) -> str:
    """Format a number with this many decimals and separated thousands."""
    text = f"{rounded(abs(value), decimals):,f}".replace(",", NARROW_SPACE)
    return f"−{text}" if value < 0 and text.strip("0.") else text


def scientific(value: RealNumber) -> str:
    """Format a number in scientific notation with two significant digits: `4.2e−5`."""
    digits, _, exponent = f"{_TWO_DIGITS.create_decimal(Decimal(abs(value))):e}".partition("e")
    text = f"{digits.removesuffix('.0')}e{int(exponent)}".replace("-", "−")
    return f"−{text}" if value < 0 else text


def without_zeros(text: str, least: int) -> str:
    """Drop trailing zeros after the decimal point, down to `least` decimals."""
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{whole}.{decimals}" if decimals else whole


def is_whole(value: RealNumber) -> bool:
    """Return whether a number has no decimals."""
    return math.isfinite(value) and value == int(value)


def decimals_by_size(size: RealNumber) -> int:
    """Return how many decimals a number of this size gets (0 to 5)."""
    if size < 0.1:
        return 3 if size >= 0.01 else 4 if size >= 0.001 else 5
    if size < 1 and rounded(size, 2) < 1:
        return 2
    return 1 if rounded(size, 1) < 100 else 0
