"""Model calls that were recorded twice: by the framework, and by botocore's instrumentation below it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from .span import Span

SKEW_NS = 1_000_000
"""How much two spans of one machine may disagree about a moment (clocks rounded to milliseconds at worst)."""
_TRANSPARENT = ("other", "memory")


def find_twins(
    by_id: Mapping[str, Span], parents: Mapping[str, str | None], operations: Mapping[str, str]
) -> frozenset[str]:
    """The ids of `chat` spans that say again what another `chat` span says.

    A twin lies below the framework's span with no agent or tool between them, or, as a CLIENT span whose context was
    lost in a thread, beside it and within its time.
    """
    chats = [id for id, operation in operations.items() if operation == "chat"]
    if len(chats) < 2:
        return frozenset()
    above: dict[str, str | None] = {}
    clients = {id for id in chats if by_id[id].kind == "client"}
    own = _Own([by_id[id] for id in chats if id not in clients] if clients else [], parents)
    return frozenset(
        id
        for id in chats
        if ((owner := _owner(id, parents, operations, above)) is not None and operations[owner] == "chat")
        or (id in clients and own.hold(by_id[id], parents[id]))
    )


def without(dropped: frozenset[str], parents: Mapping[str, str | None]) -> dict[str, str | None]:
    """`parents` when `dropped` are gone: their children move up to the next span that stays."""
    kept: dict[str, str | None] = {}
    for id, parent in parents.items():
        if id in dropped:
            continue
        while parent is not None and parent in dropped:
            parent = parents[parent]
        kept[id] = parent
    return kept


def _owner(
    id: str, parents: Mapping[str, str | None], operations: Mapping[str, str], above: dict[str, str | None]
) -> str | None:
    """The nearest span above that is an agent, a cycle, a tool, a server or a model call; remembered in `above`."""
    path: list[str] = []
    at: str | None = id
    while True:
        if at in above:
            found = above[at]
            break
        path.append(at)
        at = parents[at]
        if at is None or operations[at] not in _TRANSPARENT:
            found = at
            break
    for each in path:
        above[each] = found
    return found


class _Own:
    """The framework's own model calls under each parent, ready to be asked whether one of them spans an interval."""

    def __init__(self, chats: Sequence[Span], parents: Mapping[str, str | None]) -> None:
        groups: dict[str | None, list[Span]] = {}
        for span in chats:
            groups.setdefault(parents[span.span_id], []).append(span)
        groups[None] = list(chats)  # a client span without a parent may belong to any of them
        self._starts: dict[str | None, list[int]] = {}
        self._ends: dict[str | None, list[int]] = {}
        for parent, group in groups.items():
            group.sort(key=lambda span: span.start_ns)
            self._starts[parent] = [span.start_ns for span in group]
            self._ends[parent] = list(accumulate((span.end_ns for span in group), max))

    def hold(self, span: Span, parent: str | None) -> bool:
        starts = self._starts.get(parent)
        if not starts:
            return False
        place = bisect_right(starts, span.start_ns + SKEW_NS)
        return place > 0 and self._ends[parent][place - 1] >= span.end_ns - SKEW_NS
