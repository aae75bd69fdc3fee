"""Metric points in one form for both encodings: a histogram's buckets as (middle, count) pairs, as EMF has them."""

from __future__ import annotations

from collections.abc import Sequence

KINDS = {
    "sum": "sum",
    "gauge": "gauge",
    "histogram": "histogram",
    "exponentialHistogram": "exponential",
    "summary": "summary",
}
TEMPORALITIES = ("unspecified", "delta", "cumulative")

BucketCounts = list[tuple[float, int]]


def bucket_middles(bounds: Sequence[float], counts: Sequence[int], low: object, high: object) -> BucketCounts:
    """Return midpoints and counts of a histogram's non-empty buckets.

    Args:
        bounds: Upper bounds of all buckets but the last, ascending.
        counts: Number of values in each bucket, one more than `bounds`.
        low: The smallest value, which bounds the first bucket, if it is known.
        high: The largest value, which bounds the last bucket, if it is known.
    """
    middles: BucketCounts = []
    for index, count in enumerate(counts):
        if not count:
            continue
        below = bounds[index - 1] if 0 < index <= len(bounds) else low
        above = bounds[index] if index < len(bounds) else high
        edges = [float(edge) for edge in (below, above) if isinstance(edge, int | float)]
        middles.append((sum(edges) / len(edges) if edges else 0.0, count))
    return middles


def exponential_middles(
    *, scale: int, zero: int, positive: tuple[int, Sequence[int]], negative: tuple[int, Sequence[int]]
) -> BucketCounts:
    """Return midpoints and counts of an exponential histogram's non-empty buckets.

    Bucket i covers (base^i, base^(i+1)] with base = 2^(2^-scale). Source: OpenTelemetry metrics data model,
    "ExponentialHistogram".

    Args:
        scale: The scale; adding one splits each bucket into two.
        zero: Number of values that are zero.
        positive: Offset of the first bucket and the counts of positive values.
        negative: Offset of the first bucket and the counts of negative values, by size.
    """
    middles: BucketCounts = []
    for sign, (offset, counts) in ((-1.0, negative), (1.0, positive)):
        for index, count in enumerate(counts, start=offset):
            if count:
                middles.append((sign * (_edge(index, scale) + _edge(index + 1, scale)) / 2, count))
    if zero:
        middles.append((0.0, zero))
    return middles


def _edge(index: int, scale: int) -> float:
    try:
        return 2.0 ** (index * 2.0**-scale)
    except OverflowError:
        return 1.7976931348623157e308  # the largest float, which no measured value reaches
