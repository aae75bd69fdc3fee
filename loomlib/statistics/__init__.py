"""Numbers with their doubt: estimates, percentiles, shares and ratios with intervals, and how they are written."""

from .estimates import Estimate
from .numbers import TOO_SMALL, decimals, milliseconds, number, percent, plural
from .percentiles import (
    CONFIDENCE,
    PERCENTILE_METHOD,
    RESAMPLES,
    SHARE_METHOD,
    SMALLEST_N,
    estimate_paired_difference,
    estimate_percentile,
    estimate_share,
    is_bounded_above,
    needed_for,
    percentile,
    percentile_replicates,
)
from .ratios import RATIO_METHOD, estimate_ratio

__all__ = [
    "CONFIDENCE",
    "PERCENTILE_METHOD",
    "RATIO_METHOD",
    "RESAMPLES",
    "SHARE_METHOD",
    "SMALLEST_N",
    "TOO_SMALL",
    "Estimate",
    "decimals",
    "estimate_paired_difference",
    "estimate_percentile",
    "estimate_ratio",
    "estimate_share",
    "is_bounded_above",
    "milliseconds",
    "needed_for",
    "number",
    "percent",
    "percentile",
    "percentile_replicates",
    "plural",
]
