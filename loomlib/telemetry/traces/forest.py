"""Spans put in their places: duplicates dropped, circles opened, orphans and impossible times marked.

Every span of the input is in the result exactly once, as a span of the forest or as a duplicate, and the result does
not depend on the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .operations import operation_of
from .span import Span
from .twins import SKEW_NS, find_twins, without


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """`spans` by start; the mappings by span id, without circles; `marks` of the whole."""

    spans: tuple[Span, ...]
    by_id: Mapping[str, Span]
    operations: Mapping[str, str]
    parents: Mapping[str, str | None]
    children: Mapping[str | None, tuple[Span, ...]]
    by_operation: Mapping[str, tuple[Span, ...]]
    duplicates: tuple[Span, ...]
    marks: frozenset[str]


def arrange(spans: Iterable[Span]) -> Forest:
    """The forest of `spans`."""
    marks: set[str] = set()
    odd: dict[str, set[str]] = {}
    by_id, dropped = _once(spans, marks)
    parents: dict[str, str | None] = {}
    lost: list[str] = []
    for id, span in by_id.items():
        parent = span.parent_id
        if parent is None or parent in by_id:
            parents[id] = parent
        else:
            parents[id] = None
            lost.append(id)
    _open_circles(by_id, parents, odd)
    operations = {id: operation_of(span.name, span.kind, span.attributes) for id, span in by_id.items()}
    if twins := find_twins(by_id, parents, operations):
        dropped.extend(by_id.pop(id) for id in twins)
        parents = without(twins, parents)
        marks.add("duplicates_removed")
    _mark_orphans(parents, operations, [id for id in lost if id in by_id], odd)
    _mark_times(by_id, parents, odd)
    for id, names in odd.items():
        if id in by_id:
            by_id[id] = replace(by_id[id], marks=by_id[id].marks | names)
    for span in by_id.values():
        if span.marks:
            marks |= span.marks
    if marks & {"orphan", "untimed", "unfinished", "no_id"} or not by_id:
        marks.add("partial")
    if "negative_duration" in marks:
        marks.add("clock_skewed")
    ordered = sorted(by_id.values(), key=place_of)
    children: dict[str | None, list[Span]] = {}
    kinds: dict[str, list[Span]] = {}
    for span in ordered:
        children.setdefault(parents[span.span_id], []).append(span)
        kinds.setdefault(operations[span.span_id], []).append(span)
    return Forest(
        spans=tuple(ordered),
        by_id=by_id,
        operations=operations,
        parents=parents,
        children={id: tuple(each) for id, each in children.items()},
        by_operation={operation: tuple(each) for operation, each in kinds.items()},
        duplicates=tuple(sorted(dropped, key=place_of)),
        marks=frozenset(marks),
    )


def place_of(span: Span) -> tuple[int, int, str]:
    """Where a span stands among others: by start, longer ones first."""
    return span.start_ns, -span.end_ns, span.span_id


def _once(spans: Iterable[Span], marks: set[str]) -> tuple[dict[str, Span], list[Span]]:
    """One span an id: the one that says most. Two that disagree about their times are marked."""
    by_id: dict[str, Span] = {}
    dropped: list[Span] = []
    for span in spans:
        other = by_id.get(span.span_id)
        if other is None:
            by_id[span.span_id] = span
            continue
        marks.add("duplicates_removed")
        if other == span:
            dropped.append(span)
            continue
        if (other.start_ns, other.end_ns, other.parent_id) != (span.start_ns, span.end_ns, span.parent_id):
            marks.add("conflicting_duplicates")
        best, worse = (other, span) if _said(other) >= _said(span) else (span, other)
        by_id[span.span_id] = best
        dropped.append(worse)
    return by_id, dropped


def _said(span: Span) -> tuple[Any, ...]:
    """How much a copy of a span tells; the last entries only decide between copies that tell the same amount."""
    return (
        not span.marks,
        span.duration_ns,
        len(span.attributes) + len(span.events),
        span.status,
        span.start_ns,
        span.parent_id or "",
        span.name,
        span.kind,
        repr(span),
        repr(span.attributes),
    )


def _open_circles(by_id: Mapping[str, Span], parents: dict[str, str | None], odd: dict[str, set[str]]) -> None:
    """Each circle of parents is opened at its earliest span, which becomes a root."""
    settled: set[str] = set()
    for start in by_id:
        path: list[str] = []
        on_path: set[str] = set()
        id: str | None = start
        while id is not None and id not in settled and id not in on_path:
            path.append(id)
            on_path.add(id)
            id = parents[id]
        if id is not None and id in on_path:
            circle = path[path.index(id) :]
            parents[min(circle, key=lambda each: place_of(by_id[each]))] = None
            for each in circle:
                odd.setdefault(each, set()).add("cyclic")
        settled |= on_path


def _mark_orphans(
    parents: Mapping[str, str | None], operations: Mapping[str, str], lost: Sequence[str], odd: dict[str, set[str]]
) -> None:
    """A parent that is not there is lost, unless it is plainly the caller's: above a server, or above the only root."""
    only_root = sum(1 for parent in parents.values() if parent is None) == 1
    for id in lost:
        is_callers = operations[id] == "server" or (only_root and operations[id] == "invoke_agent")
        if not is_callers:
            odd.setdefault(id, set()).add("orphan")


def _mark_times(by_id: Mapping[str, Span], parents: Mapping[str, str | None], odd: dict[str, set[str]]) -> None:
    """Ends before beginnings, children before their parents; a child that outlives its parent may be right."""
    for id, span in by_id.items():
        if span.end_ns < span.start_ns:
            odd.setdefault(id, set()).add("negative_duration")
        above = parents[id]
        if above is None:
            continue
        parent = by_id[above]
        if parent.marks or span.marks:
            continue
        if span.start_ns < parent.start_ns - SKEW_NS:
            odd.setdefault(id, set()).add("clock_skewed")
        elif span.end_ns > parent.end_ns + SKEW_NS:
            odd.setdefault(id, set()).add("outlives_parent")
