"""Half-open intervals of integer nanoseconds: union, subtraction and sums without rounding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the intervals merged into disjoint ones in order; empty ones are dropped."""
    merged: list[Interval] = []
    last_start = last_end = 0
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if merged and start <= last_end:
            if end > last_end:
                last_end = end
                merged[-1] = (last_start, last_end)
        else:
            last_start, last_end = start, end
            merged.append((start, end))
    return merged


def carve(free: Sequence[Interval], covering: Sequence[Interval]) -> tuple[list[Interval], list[Interval]]:
    """Split `free` into what `covering` covers and what remains; all arguments and results are disjoint and in order.

    Returns:
        The covered and the uncovered intervals.
    """
    if not covering or not free:
        return [], list(free)
    covered: list[Interval] = []
    uncovered: list[Interval] = []
    first = 0
    for start, end in free:
        while first < len(covering) and covering[first][1] <= start:
            first += 1
        at, at_start = first, start
        while at < len(covering) and covering[at][0] < end:
            from_, to = max(covering[at][0], at_start), min(covering[at][1], end)
            if from_ > at_start:
                uncovered.append((at_start, from_))
            if to > from_:
                covered.append((from_, to))
            at_start = max(at_start, to)
            at += 1
        if at_start < end:
            uncovered.append((at_start, end))
    return covered, uncovered


def total(intervals: Iterable[Interval]) -> int:
    """Return the total length of disjoint intervals in nanoseconds."""
    length = 0
    for start, end in intervals:
        length += end - start
    return length


def most_at_once(intervals: Iterable[Interval]) -> int:
    """Return the largest number of overlapping intervals; intervals that only touch do not overlap."""
    edges = sorted(edge for start, end in intervals if end > start for edge in ((start, 1), (end, -1)))
    open_count = maximum = 0
    for _, step in edges:
        open_count += step
        maximum = max(maximum, open_count)
    return maximum
