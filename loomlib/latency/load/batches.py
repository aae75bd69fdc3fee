"""Intervals for figures of calls that are not independent: in a queue, a slow call is followed by slow ones.

The method of batch means (Conway, Management Science 10:1, 1963; Law, Simulation Modeling and Analysis, 5th edition,
2015, §9.5.3): consecutive calls form 20 batches, and the spread between batches, which correlation within them cannot
narrow, gives the interval. Shares have Wilson's shape with the effective sample size of the batches; percentiles have
Woodruff's interval (JASA 47, 1952): the interval of the share of calls below the percentile, carried over by the
sample's own percentiles. A batch must be longer than the correlation lasts, for a queue some (1 − √utilization)⁻² mean
service times a server; shorter ones give intervals that are too narrow.

With fewer than 100 calls, batches are not informative; the calls are then treated as independent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from loomlib.presentation.formats import TOO_SMALL
from loomlib.statistics import (
    CONFIDENCE,
    Estimate,
    estimate_percentile,
    estimate_rate,
    estimate_share,
    is_bounded_above,
    needed_for,
    percentile,
)
from loomlib.statistics.means import variance_ratio, wilson_shape

from .columns import BoolArray, FloatArray

BATCHES: Final = 20
SMALLEST_BATCH: Final = 5
BATCH_SHARE_METHOD = "Wilson score, effective sample size over 20 batches of consecutive calls"
BATCH_PERCENTILE_METHOD = "Hyndman-Fan 8, Woodruff's interval over 20 batches of consecutive calls"


def estimate_batch_share(hits: BoolArray, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the share of calls that are hits.

    Args:
        hits: Whether each call is a hit, in the order of the calls' starts.
        confidence: Confidence level of the interval.
    """
    total = int(hits.sum())
    # When all or none are hits, the data do not show how similar neighbours are.
    if hits.size < BATCHES * SMALLEST_BATCH or total in (0, hits.size):
        return estimate_share(total, int(hits.size), confidence=confidence)
    passes, tries = _batches(hits)
    estimate = estimate_rate(passes, tries, confidence=confidence)
    # Batches of n and n + 1 calls have equal weight here; the share itself is that of the calls.
    share = total / hits.size
    assert estimate.low is not None
    assert estimate.high is not None
    return replace(
        estimate,
        value=share,
        low=min(estimate.low, share),
        high=max(estimate.high, share),
        n=int(hits.size),
        method=BATCH_SHARE_METHOD,
    )


def estimate_batch_percentile(values: FloatArray, p: float, *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a percentile.

    Args:
        values: The values, in the order of the calls' starts, none missing.
        p: The percentile, 0 to 1.
        confidence: Confidence level of the interval.
    """
    n = int(values.size)
    if n < BATCHES * SMALLEST_BATCH:
        return estimate_percentile(values, p, confidence=confidence)
    if n < needed_for(p):
        return Estimate.missing(
            TOO_SMALL, n=n, confidence=confidence, method=BATCH_PERCENTILE_METHOD, needed_n=needed_for(p)
        )
    value = percentile(values, p)
    passes, tries = _batches(values <= value)
    shares = passes / tries
    spread = max(variance_ratio(p, float(shares.var(ddof=1))), BATCHES / n)
    low, high = wilson_shape(p, spread, BATCHES, confidence=confidence)
    ends = [percentile(values, min(max(end, 0.5 / n), 1 - 0.5 / n)) for end in (low, high)]
    return Estimate(
        value=value,
        low=min(ends[0], value),
        high=max(ends[1], value),
        n=n,
        confidence=confidence,
        method=BATCH_PERCENTILE_METHOD,
        open_above=not is_bounded_above(p, max(1, round(BATCHES / spread)), confidence),
    )


def _batches(
    hits: BoolArray,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], np.ndarray[tuple[int], np.dtype[np.intp]]]:
    edges = np.linspace(0, hits.size, BATCHES + 1).astype(np.intp)
    counts = np.concatenate([np.zeros(1, np.intp), np.cumsum(hits, dtype=np.intp)])
    return np.diff(counts[edges]), np.diff(edges)
