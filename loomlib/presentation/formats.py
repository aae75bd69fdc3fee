"""Formats of numbers, units, money, intervals, counts and times, shared by every display.

Tables, sentences, cards, panels, the command line and the labels in JSON call these functions, so that a value reads
the same wherever it is shown. `format.js` of the panels gives the same strings. All functions share three rules:

- Rounding is half up (away from zero), on the value that the float holds.
- A value that is missing (`None` or NaN) is `–`; infinity is `∞`. Only zero reads as zero, and `-0.0` has no sign.
- Thousands are separated by a narrow no-break space, a minus is U+2212, and a unit follows after a space.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, Literal

from .digits import (
    MISSING,
    NARROW_SPACE,
    RealNumber,
    decimals_by_size,
    fixed,
    is_whole,
    rounded,
    scientific,
    special_text,
    without_zeros,
)

TOO_SMALL: Final = "n too small"
"""Shown instead of a figure that the sample cannot support."""

NumberKind = Literal["number", "ms", "share", "USD"]
"""What a figure measures: a plain number, a duration in ms, a share of 1, or dollars."""

_LARGEST = 1e15
_SMALLEST = 1e-4
_SMALLEST_EXACT = 1e-6
_ONE_SECOND = 999.5
"""Milliseconds from which a duration is written in seconds: 999.5 ms would round to 1000 ms."""


def number(value: RealNumber | None, decimals: int | None = None) -> str:
    """Format a plain number with sensible digits.

    Whole numbers have no decimals; others have one from 1 to 100, two below 1, none above 100, and below 0.1 as many as
    show two significant digits. Below 0.0001 and from 1e15 on the notation is scientific.

    Args:
        value: The number; `None` and NaN give `–`.
        decimals: A fixed number of decimals, to align a figure with others.

    Returns:
        For example `0.42`, `0.042`, `6.1`, `318`, `12 345`, `4.2e−5`.
    """
    if (special := special_text(value)) is not None:
        return special
    assert value is not None
    if decimals is not None:
        return fixed(value, decimals)
    size = abs(value)
    if size and (size < _SMALLEST or size >= _LARGEST):
        return scientific(value)
    text = fixed(value, decimals_of(value))
    return without_zeros(text, 2) if size and size < 0.1 else text


def exact(value: RealNumber | None) -> str:
    """Format a number with the digits that it was set with, up to 12: a limit, a threshold, a rejected argument.

    Returns:
        For example `0.5`, `2.345`, `12 345`, `0.000001`, `1e−9`.
    """
    if (special := special_text(value)) is not None:
        return special
    assert value is not None
    decimal = Decimal(value) if is_whole(value) else Decimal(f"{value:.12g}")
    if decimal and (abs(decimal) < _SMALLEST_EXACT or abs(decimal) >= _LARGEST):
        return scientific(value)
    return without_zeros(fixed(decimal, min(15, max(0, -int(decimal.as_tuple().exponent)))), 0)


def decimals_of(value: RealNumber) -> int:
    """Return how many decimals `number` gives to `value` (0 to 5)."""
    return 0 if is_whole(value) else decimals_by_size(abs(value))


def milliseconds(value: RealNumber | None) -> str:
    """Format a duration given in milliseconds.

    Below 1 s in ms, below 1 min in s with three significant digits, then in minutes and hours.

    Returns:
        For example `6.1 ms`, `318 ms`, `2.35 s`, `14.2 s`, `2 min 05 s`, `1 h 12 min`.
    """
    if (special := special_text(value)) is not None:
        return special
    assert value is not None
    size = abs(value)
    if size < _ONE_SECOND:
        return f"{number(value)} ms"
    if rounded(size / 1000, 1) >= 60:
        return _long_duration(float(value))
    (text,), unit = _aligned((value,), "ms")
    return f"{text}{unit}"


def seconds(value: RealNumber | None) -> str:
    """Format elapsed time given in seconds, to the second: progress lines, timeouts, the duration of a run.

    Returns:
        For example `0.41 s`, `14 s`, `2 min 05 s`, `1 h 12 min`.
    """
    if (special := special_text(value)) is not None:
        return special
    assert value is not None
    whole = rounded(abs(value), 0)
    if whole >= 60:
        return _long_duration(float(value) * 1000)
    return f"{number(value)} s" if rounded(abs(value), 2) < 1 else f"{fixed(value, 0)} s"


def time_limit(value: RealNumber | None) -> str:
    """Format a time that someone set, given in seconds: like `seconds`, but with all decimals that it was set with.

    Returns:
        For example `30 s`, `2.5 s`, `0.05 s`, `3 min 00 s`.
    """
    if value is None or is_whole(value) or special_text(value) is not None or rounded(abs(value), 0) >= 60:
        return seconds(value)
    return f"{exact(value)} s"


def waited(elapsed_s: float, limit_s: float) -> str:
    """Format how long a wait has lasted, in whole seconds, and its limit: `13 s of at most 3 min 00 s`."""
    return f"{seconds(int(elapsed_s))} of at most {time_limit(limit_s)}"


def percent(share: RealNumber | None) -> str:
    """Format a share (1 is 100 %) as a percentage.

    One decimal, or none when it would be 0; two when a nonzero share would otherwise read 0 %, or a share below 1 would
    read 100 %.

    Returns:
        For example `0 %`, `<0.01 %`, `0.04 %`, `4.4 %`, `93.5 %`, `99.96 %`, `>99.99 %`, `100 %`.
    """
    if (special := special_text(share)) is not None:
        return f"{special} %" if special != MISSING else special
    assert share is not None
    value = float(share) * 100
    size = abs(value)
    sign = "−" if value < 0 else ""
    if size >= _LARGEST:
        return f"{number(value)} %"
    decimals = 2 if 0 < size < 0.1 or 99.9 < size < 100 else 1
    nearest = rounded(size, decimals)
    if size and not nearest:
        return f"{'>' if sign else '<'}{sign}0.01 %"
    if size < 100 <= nearest:
        return f"{'<' if sign else '>'}{sign}99.99 %"
    return f"{without_zeros(fixed(value, decimals), 0)} %"


def money(value: RealNumber | None, currency: str = "USD") -> str:
    """Format an amount of money: two decimals, and below 10 cents two significant digits.

    Args:
        value: The amount in the currency's main unit.
        currency: An ISO 4217 code; `USD` is written as `$`, others in front of the amount.

    Returns:
        For example `$1 234.50`, `$0.042`, `$0.00012`, `<$0.000001`, `EUR 2.00`.
    """
    if (special := special_text(value)) is not None:
        return special
    assert value is not None
    unit = "$" if currency == "USD" else f"{currency}{NARROW_SPACE}"
    size, sign = abs(value), "−" if value < 0 else ""
    if size and not rounded(size, 6):
        return f"{'>' if sign else '<'}{sign}{unit}0.000001"
    decimals = 2 if size == 0 or size >= 0.1 else 6 if size < 0.0001 else decimals_of(size)
    return f"{sign}{unit}{without_zeros(fixed(size, decimals), 2)}"


def size(count: RealNumber | None) -> str:
    """Format a number of bytes in decimal units (1 kB is 1000 bytes): `512 B`, `1.2 kB`, `4.9 MB`."""
    if (special := special_text(count)) is not None:
        return special
    assert count is not None
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if rounded(abs(value), decimals_of(value)) < 1000:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} TB"


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Format a count with its noun: `1 call`, `3 calls`, `2 queries`, `12 345 calls`.

    Args:
        count: How many.
        noun: The noun in the singular.
        nouns: The plural where it is irregular.
    """
    return f"{number(count, 0)} {noun if count == 1 else nouns or _plural_of(noun)}"


def interval(
    low: RealNumber | None,
    high: RealNumber | None,
    kind: NumberKind = "number",
    *,
    of: RealNumber | None = None,
    open_above: bool = False,
) -> str:
    """Format the bounds of an interval without their unit, in the scale and with the decimals of its estimate.

    Args:
        low: Lower bound, in the unit that `kind` names.
        high: Upper bound.
        kind: What the figure measures.
        of: The estimate that the interval belongs to; the lower bound when left out.
        open_above: Whether the sample is too small to bound the figure above; marked with `≥`.

    Returns:
        For example `305–321`, `2.31–2.40`, `−14 to −4`; `–` when a bound is missing.
    """
    if low is None or high is None or any(map(math.isnan, (low, high))):
        return MISSING
    reference = max(low, high, key=abs) if of is None else of
    (_, *bounds), _ = _aligned((reference, low, high), kind)
    dash = " to " if any(text.startswith("−") or " " in text for text in bounds) else "–"
    return f"{bounds[0]}{dash}{'≥' if open_above else ''}{bounds[1]}"


def figure(value: RealNumber | None, kind: NumberKind = "number") -> str:
    """Format a single figure of any kind, with its unit."""
    return _FORMATS[kind](value)


def estimate(
    value: RealNumber | None,
    low: RealNumber | None,
    high: RealNumber | None,
    kind: NumberKind = "number",
    *,
    open_above: bool = False,
) -> str:
    """Format a figure with its interval: `318 ms [311–326]`, `2.35 s [2.31–2.40]`, `93.5 % [88–96.5]`.

    Args:
        value: The estimate, in the unit that `kind` names.
        low: Lower bound of its interval.
        high: Upper bound.
        kind: What the figure measures.
        open_above: Whether the sample is too small to bound the figure above.
    """
    if value is None or low is None or high is None:
        return figure(value, kind)
    (text, *_), unit = _aligned((value, low, high), kind)
    return f"{text}{unit} [{interval(low, high, kind, of=value, open_above=open_above)}]"


def signed(value: RealNumber | None, form: Callable[[RealNumber | None], str] = number) -> str:
    """Format a difference with its sign, in any format: `+2.5`, `−800 ms`, `0`."""
    text = form(value)
    return f"+{text}" if value is not None and value > 0 and not text.startswith("<") else text


def points(difference: RealNumber | None) -> str:
    """Format a difference of two shares in percentage points: `+2.5 points`, `−1 point`."""
    if difference is None:
        return MISSING
    text = signed(difference, lambda share: percent(share).removesuffix(" %"))
    return f"{text} {'point' if text.lstrip('+−') == '1' else 'points'}"


def score(value: RealNumber | None) -> str:
    """Format a score: three decimals from −1 to 1, where the third distinguishes versions; else like a number."""
    if value is None or abs(value) > 1 or (value and not rounded(value, 3)):
        return number(value)
    return number(value, 3)


def p_value(p: float | None) -> str:
    """Format a p-value: `p = 0.03`, `p = 0.012`, `p < 0.001`, or `no p-value`."""
    if p is None or math.isnan(p):
        return "no p-value"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {fixed(p, 3 if p < 0.1 else 2)}"


def date_time(moment: datetime) -> str:
    """Format a moment for a sentence or a title: `21 Nov 2026 21:30 UTC`; a naive one has no zone."""
    return f"{day(_utc(moment))} {_utc(moment):%H:%M}{_zone(moment)}"


def day(moment: date) -> str:
    """Format a day: `21 Nov 2026`."""
    return f"{moment.day} {moment:%b %Y}"


def timestamp(moment: datetime) -> str:
    """Format a moment for a table: `2026-11-21 21:30:05 UTC`; a naive one has no zone."""
    return f"{_utc(moment):%Y-%m-%d %H:%M:%S}{_zone(moment)}"


def join(names: Sequence[str], conjunction: str = "and", *, most: int | None = None) -> str:
    """Join names into a list for a sentence: `a`, `a and b`, `a, b and c`, `a, b and 3 more`.

    Args:
        names: What to list.
        conjunction: The word before the last name.
        most: The largest number of names to show; the others are counted.
    """
    parts = list(names)
    if most is not None and len(parts) > most:
        parts = [*parts[:most], f"{number(len(parts) - most, 0)} more"]
    return f" {conjunction} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def cell(value: object) -> str:
    """Format any value as the cell of a table: numbers, times, lists, and text as it is; `–` for nothing."""
    if value is None or value == "" or value != value:
        return MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float | Decimal):
        return number(value)
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, date):
        return day(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return cell(value.item()) if hasattr(value, "item") else str(value)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]


def _long_duration(ms: float) -> str:
    whole, sign = int(rounded(abs(ms) / 1000, 0)), "−" if ms < 0 else ""
    if whole < 3600:
        return f"{sign}{whole // 60} min {whole % 60:02d} s"
    minutes = int(abs(ms) / 60_000 + 0.5)
    return f"{sign}{fixed(minutes // 60, 0)} h {minutes % 60:02d} min"


def _aligned(values: Sequence[RealNumber], kind: NumberKind) -> tuple[list[str], str]:
    """Format values in the scale and with the decimals of the first; return them without unit, and the unit."""
    if kind == "share":
        return [percent(value).removesuffix(" %") for value in values], " %"
    if kind == "USD":
        return [money(value) for value in values], ""
    size = abs(values[0]) or max(map(abs, values))
    if math.isinf(size) or 0 < size < _SMALLEST or size >= _LARGEST:
        return [number(value) for value in values], " ms" if kind == "ms" else ""
    if kind == "number" or size < _ONE_SECOND:
        decimals = 0 if all(map(is_whole, values)) else decimals_by_size(size)
        return [number(value, decimals) for value in values], " ms" if kind == "ms" else ""
    if rounded(size / 1000, 1) >= 60:
        return [milliseconds(value) for value in values], ""
    scaled = [float(value) / 1000 for value in values]
    decimals = 0 if all(map(is_whole, scaled)) else 2 if rounded(size / 1000, 2) < 10 else 1
    return [number(value, decimals) for value in scaled], " s"


def _plural_of(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _zone(moment: datetime) -> str:
    return "" if moment.tzinfo is None else " UTC"


_FORMATS: Final[Mapping[NumberKind, Callable[[RealNumber | None], str]]] = {
    "number": number,
    "ms": milliseconds,
    "share": percent,
    "USD": money,
}
