"""Build the span tree: remove duplicates, break cycles, mark orphans and impossible times.

Every span of the input is in the result exactly once, as a span of the tree or as a duplicate, and the result does not
depend on the order of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .conventions import agents_by_structure, translate
from .duplicate_calls import SKEW_NS, duplicate_model_calls, without
from .operations import operation_of
from .span import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTree:
    """Spans by start, with their parents and children by span id, free of cycles.

    Attributes:
        spans: The spans by start.
        by_id: The spans by span id.
        operations: Each span's operation by span id.
        parents: Each span's parent id, None for a root.
        children: The children of each span by start; roots under None.
        by_operation: The spans of each operation, by start.
        duplicates: The spans that were left out.
        marks: The marks of the whole trace.
    """

    spans: tuple[Span, ...]
    by_id: Mapping[str, Span]
    operations: Mapping[str, str]
    parents: Mapping[str, str | None]
    children: Mapping[str | None, tuple[Span, ...]]
    by_operation: Mapping[str, tuple[Span, ...]]
    duplicates: tuple[Span, ...]
    marks: frozenset[str]


def build_tree(spans: Iterable[Span]) -> SpanTree:
    """Arrange spans as a tree."""
    marks: set[str] = set()
    span_marks: dict[str, set[str]] = {}
    by_id, duplicates = _deduplicate(spans, marks)
    parents: dict[str, str | None] = {}
    parentless: list[str] = []
    for id, span in by_id.items():
        parent = span.parent_id
        if parent is None or parent in by_id:
            parents[id] = parent
        else:
            parents[id] = None
            parentless.append(id)
    _break_cycles(by_id, parents, span_marks)
    operations = _operations(by_id, parents)
    if repeated := duplicate_model_calls(by_id, parents, operations):
        duplicates.extend(by_id.pop(id) for id in repeated)
        parents = without(repeated, parents)
        marks.add("duplicates_removed")
    _mark_orphans(parents, operations, [id for id in parentless if id in by_id], span_marks)
    _mark_times(by_id, parents, span_marks)
    for id, names in span_marks.items():
        if id in by_id:
            by_id[id] = replace(by_id[id], marks=by_id[id].marks | names)
    for span in by_id.values():
        if span.marks:
            marks |= span.marks
    if marks & {"orphan", "untimed", "unfinished", "no_id"} or not by_id:
        marks.add("partial")
    if "negative_duration" in marks:
        marks.add("clock_skewed")
    ordered = sorted(by_id.values(), key=sort_key)
    children: dict[str | None, list[Span]] = {}
    by_operation: dict[str, list[Span]] = {}
    for span in ordered:
        children.setdefault(parents[span.span_id], []).append(span)
        by_operation.setdefault(operations[span.span_id], []).append(span)
    return SpanTree(
        spans=tuple(ordered),
        by_id=by_id,
        operations=operations,
        parents=parents,
        children={id: tuple(group) for id, group in children.items()},
        by_operation={operation: tuple(group) for operation, group in by_operation.items()},
        duplicates=tuple(sorted(duplicates, key=sort_key)),
        marks=frozenset(marks),
    )


def _operations(by_id: dict[str, Span], parents: Mapping[str, str | None]) -> dict[str, str]:
    """Return each span's operation; spans of other conventions are replaced by ones with translated attributes."""
    facts: dict[str, dict[str, Any]] = {}
    operations: dict[str, str] = {}
    for id, span in by_id.items():
        if span.translated is not None:  # by another trace, which may have shown something else
            by_id[id] = replace(span, translated=None)
        values = translate(span.attributes)
        if values is not None:
            facts[id] = values
        operations[id] = operation_of(span.name, span.kind, span.attributes if values is None else values)
    if not facts:
        return operations
    changed = agents_by_structure(by_id, parents, operations, facts)
    for id, operation in changed.items():
        attributes = {**by_id[id].attributes, "gen_ai.operation.name": operation}
        facts[id] = translate(attributes) or attributes
    operations |= changed
    for id, values in facts.items():
        span = by_id[id]
        if operations[id] == "invoke_agent" and "gen_ai.agent.name" not in values:
            values["gen_ai.agent.name"] = span.name
        by_id[id] = replace(span, translated=values)
    return operations


def sort_key(span: Span) -> tuple[int, int, str]:
    """Return the key that orders spans by start, longer ones first."""
    return span.start_ns, -span.end_ns, span.span_id


def _deduplicate(spans: Iterable[Span], marks: set[str]) -> tuple[dict[str, Span], list[Span]]:
    """Keep the most complete copy of each span id; mark copies that disagree about their times."""
    by_id: dict[str, Span] = {}
    duplicates: list[Span] = []
    for span in spans:
        other = by_id.get(span.span_id)
        if other is None:
            by_id[span.span_id] = span
            continue
        marks.add("duplicates_removed")
        if other == span:
            duplicates.append(span)
            continue
        if (other.start_ns, other.end_ns, other.parent_id) != (span.start_ns, span.end_ns, span.parent_id):
            marks.add("conflicting_duplicates")
        best, worse = (other, span) if _completeness(other) >= _completeness(span) else (span, other)
        by_id[span.span_id] = best
        duplicates.append(worse)
    return by_id, duplicates


def _completeness(span: Span) -> tuple[Any, ...]:
    """Return how complete a copy of a span is; the last entries only break ties."""
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


def _break_cycles(by_id: Mapping[str, Span], parents: dict[str, str | None], span_marks: dict[str, set[str]]) -> None:
    """Break each cycle of parents at its earliest span, which becomes a root."""
    settled: set[str] = set()
    for start in by_id:
        if start in settled:
            continue
        path: list[str] = []
        on_path: set[str] = set()
        id: str | None = start
        while id is not None and id not in settled and id not in on_path:
            path.append(id)
            on_path.add(id)
            id = parents[id]
        if id is not None and id in on_path:
            cycle = path[path.index(id) :]
            parents[min(cycle, key=lambda member: sort_key(by_id[member]))] = None
            for member in cycle:
                span_marks.setdefault(member, set()).add("cyclic")
        settled |= on_path


def _mark_orphans(
    parents: Mapping[str, str | None],
    operations: Mapping[str, str],
    parentless: Sequence[str],
    span_marks: dict[str, set[str]],
) -> None:
    """Mark spans whose parent is missing, unless the parent belongs to the caller: above a server or only root."""
    only_root = sum(1 for parent in parents.values() if parent is None) == 1
    for id in parentless:
        is_callers = operations[id] == "server" or (only_root and operations[id] == "invoke_agent")
        if not is_callers:
            span_marks.setdefault(id, set()).add("orphan")


def _mark_times(by_id: Mapping[str, Span], parents: Mapping[str, str | None], span_marks: dict[str, set[str]]) -> None:
    """Mark ends before starts, and children that start before their parents; ending later may be correct."""
    for id, span in by_id.items():
        if span.end_ns < span.start_ns:
            span_marks.setdefault(id, set()).add("negative_duration")
        parent_id = parents[id]
        if parent_id is None:
            continue
        parent = by_id[parent_id]
        if parent.marks or span.marks:
            continue
        if span.start_ns < parent.start_ns - SKEW_NS:
            span_marks.setdefault(id, set()).add("clock_skewed")
        elif span.end_ns > parent.end_ns + SKEW_NS:
            span_marks.setdefault(id, set()).add("outlives_parent")
