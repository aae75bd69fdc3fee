"""Rates, points and p-values as a reader says them."""

from __future__ import annotations

from loomlib.presentation.formats import number
from loomlib.statistics.estimates import Estimate

_UNPRINTABLE = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}


def printable(text: str) -> str:
    """Foreign text (a case's id, a tag) without what a terminal would obey or UTF-8 cannot write."""
    return text.translate(_UNPRINTABLE).encode("utf-8", "replace").decode("utf-8")


def percent_text(share: float) -> str:
    """A share as a percentage with one decimal: `93.5 %`; whole ones without."""
    return f"{_digits(share * 100)} %"


def points_text(difference: float, *, sign: bool = True) -> str:
    """A difference of shares in percentage points with its sign: `+2.5 points`, `−9 points`."""
    text = _digits(difference * 100)
    shown = f"+{text}" if sign and not text.startswith("−") and text != "0" else text
    return f"{shown} {'point' if text.lstrip('−') == '1' else 'points'}"


def score_text(value: float) -> str:
    """A score as text: three decimals near 0 and 1, where the third one tells versions apart."""
    return number(value, 3 if abs(value) <= 1 else None)


def interval_words(estimate: Estimate, *, percent: bool = False) -> str:
    """`93.5 % [88–96.5]`, or the reason why there is no number."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    if not percent:
        return f"{score_text(estimate.value)} [{score_text(estimate.low)}–{score_text(estimate.high)}]"
    return f"{percent_text(estimate.value)} [{_digits(estimate.low * 100)}–{_digits(estimate.high * 100)}]"


def points_words(estimate: Estimate) -> str:
    """`−9 points [−14 to −4]`, or the reason why there is no number."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    return f"{points_text(estimate.value)} [{_digits(estimate.low * 100)} to {_digits(estimate.high * 100)}]"


def difference_words(estimate: Estimate) -> str:
    """`−0.09 [−0.14 to −0.04]`, or the reason why there is no number."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    sign = "+" if estimate.value > 0 else ""
    return f"{sign}{score_text(estimate.value)} [{score_text(estimate.low)} to {score_text(estimate.high)}]"


def estimate_cell(estimate: Estimate, *, percent: bool = False) -> str:
    """An estimate in a table; a sample that is too small says how many it has of how many it needs."""
    if estimate.value is None and estimate.needed_n and estimate.needed_n > estimate.n:
        return f"{estimate} ({estimate.n} of {estimate.needed_n})"
    return interval_words(estimate, percent=percent)


def p_text(p: float | None) -> str:
    """`p = 0.03`, `p < 0.001`, or `no p-value`."""
    if p is None:
        return "no p-value"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _digits(value: float) -> str:
    rounded = round(value, 1)
    return number(rounded, 0 if rounded == round(rounded) else 1)
