"""Intervals of integer nanoseconds, half open: merged, cut out of each other, added up without loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same moments as disjoint intervals in order; empty ones vanish."""
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


def carve(free: Sequence[Interval], wanted: Sequence[Interval]) -> tuple[list[Interval], list[Interval]]:
    """What `wanted` takes of `free`, and what stays free; both inputs and both results are disjoint and in order."""
    if not wanted or not free:
        return [], list(free)
    taken: list[Interval] = []
    left: list[Interval] = []
    place = 0
    for start, end in free:
        while place < len(wanted) and wanted[place][1] <= start:
            place += 1
        at, at_start = place, start
        while at < len(wanted) and wanted[at][0] < end:
            from_, to = max(wanted[at][0], at_start), min(wanted[at][1], end)
            if from_ > at_start:
                left.append((at_start, from_))
            if to > from_:
                taken.append((from_, to))
            at_start = max(at_start, to)
            at += 1
        if at_start < end:
            left.append((at_start, end))
    return taken, left


def total(intervals: Iterable[Interval]) -> int:
    """Nanoseconds in disjoint intervals."""
    length = 0
    for start, end in intervals:
        length += end - start
    return length


def most_at_once(intervals: Iterable[Interval]) -> int:
    """How many intervals overlap at the busiest moment; those that only touch do not overlap."""
    edges = sorted(edge for start, end in intervals if end > start for edge in ((start, 1), (end, -1)))
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most
