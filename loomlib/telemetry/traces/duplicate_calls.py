"""Model calls that were recorded twice: by the framework, and by botocore's instrumentation within it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from .span import Span

SKEW_NS = 1_000_000
"""How much two spans of one machine may disagree about a moment (clocks rounded to milliseconds at worst)."""

_TRANSPARENT = ("other", "memory")


def duplicate_model_calls(
    by_id: Mapping[str, Span], parents: Mapping[str, str | None], operations: Mapping[str, str]
) -> frozenset[str]:
    """Return the ids of `chat` spans that repeat another `chat` span.

    A duplicate lies below the framework's span with no agent or tool between them, or, as a CLIENT span whose context
    was lost in a thread or never set (LangChain's callbacks do not set it), below a span around it and within its time.

    Args:
        by_id: All spans by span id.
        parents: Each span's parent id, None for a root.
        operations: Each span's operation by span id.
    """
    chats = [id for id, operation in operations.items() if operation == "chat"]
    if len(chats) < 2:
        return frozenset()
    nearest: dict[str, str | None] = {}
    clients = {id for id in chats if by_id[id].kind == "client"}
    own = _FrameworkCalls([by_id[id] for id in chats if id not in clients] if clients else [], parents)
    return frozenset(
        id
        for id in chats
        if ((owner := _owner(id, parents, operations, nearest)) is not None and operations[owner] == "chat")
        or (id in clients and own.contains(by_id[id], parents[id]))
    )


def without(removed: frozenset[str], parents: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return `parents` without removed spans, whose children move to the nearest remaining ancestor."""
    remaining: dict[str, str | None] = {}
    for id, parent in parents.items():
        if id in removed:
            continue
        while parent is not None and parent in removed:
            parent = parents[parent]
        remaining[id] = parent
    return remaining


def _owner(
    id: str, parents: Mapping[str, str | None], operations: Mapping[str, str], nearest: dict[str, str | None]
) -> str | None:
    """Return the nearest agent, cycle, tool, server or model call above a span; cached in `nearest`."""
    path: list[str] = []
    at: str | None = id
    while True:
        if at in nearest:
            owner = nearest[at]
            break
        path.append(at)
        at = parents[at]
        if at is None or operations[at] not in _TRANSPARENT:
            owner = at
            break
    for member in path:
        nearest[member] = owner
    return owner


class _FrameworkCalls:
    """The framework's own model calls by the spans around them, indexed to find one that contains an interval."""

    def __init__(self, chats: Sequence[Span], parents: Mapping[str, str | None]) -> None:
        groups: dict[str | None, list[Span]] = {}
        for span in chats:
            around = parents[span.span_id]
            while around is not None:
                groups.setdefault(around, []).append(span)
                around = parents[around]
        groups[None] = list(chats)  # a client span without a parent may belong to any of them
        self._starts: dict[str | None, list[int]] = {}
        self._ends: dict[str | None, list[int]] = {}
        for parent, group in groups.items():
            group.sort(key=lambda span: span.start_ns)
            self._starts[parent] = [span.start_ns for span in group]
            self._ends[parent] = list(accumulate((span.end_ns for span in group), max))

    def contains(self, span: Span, parent: str | None) -> bool:
        starts = self._starts.get(parent)
        if not starts:
            return False
        index = bisect_right(starts, span.start_ns + SKEW_NS)
        return index > 0 and self._ends[parent][index - 1] >= span.end_ns - SKEW_NS
