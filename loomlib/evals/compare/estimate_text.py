"""Estimates and differences of scores and rates as text."""

from __future__ import annotations

from loomlib.presentation import formats
from loomlib.statistics.estimates import Estimate


def interval_text(estimate: Estimate, *, percent: bool = False) -> str:
    """Return text such as `93.5 % [88–96.5]`, or why there is no estimate.

    Args:
        estimate: The estimate.
        percent: Whether it is a share.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    if percent:
        return estimate.text("share")
    return f"{formats.score(estimate.value)} [{formats.score(estimate.low)}–{formats.score(estimate.high)}]"


def points_text(estimate: Estimate) -> str:
    """Return a difference of rates in percentage points, such as `−9 points [−14 to −4]`."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    low, high = (formats.percent(bound).removesuffix(" %") for bound in (estimate.low, estimate.high))
    return f"{formats.points(estimate.value)} [{low} to {high}]"


def difference_text(estimate: Estimate) -> str:
    """Return a difference of scores, such as `−0.09 [−0.14 to −0.04]`."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    value = formats.signed(estimate.value, formats.score)
    return f"{value} [{formats.score(estimate.low)} to {formats.score(estimate.high)}]"


def estimate_cell(estimate: Estimate, *, percent: bool = False) -> str:
    """Return an estimate for a table; for a sample that is too small, its size and the size needed.

    Args:
        estimate: The estimate.
        percent: Whether it is a share.
    """
    if estimate.value is None and estimate.needed_n and estimate.needed_n > estimate.n:
        return f"{estimate} ({estimate.n} of {estimate.needed_n})"
    return interval_text(estimate, percent=percent)
