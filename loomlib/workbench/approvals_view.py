"""What waits for a person, as a notebook shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from ..memory.approvals import Approval
from . import memory_tables as tables

if TYPE_CHECKING:
    from .memory_frame import MemoryFrame

_COLUMNS = ("id", "state", "tool", "input", "actor", "asked_at", "expires_at", "decided_at", "note", "result",
            "session_id")  # fmt: skip


class ApprovalsView(Sequence[Approval]):
    """An agent's approvals, the last asked first; made by `agent.approvals()`."""

    def __init__(self, approvals: Sequence[Approval], *, agent_name: str, labels: Sequence[str] = ()) -> None:
        self._approvals, self._name, self._labels = tuple(approvals), agent_name, tuple(labels)

    @property
    def pending(self) -> tuple[Approval, ...]:
        """Those that can still be decided."""
        return tuple(each for each in self if each.is_pending)

    def table(self) -> MemoryFrame:
        """One row an approval."""
        rows = (
            (
                each.id, each.state, each.tool, json.dumps(dict(each.input), ensure_ascii=False, default=repr),
                each.actor, each.asked_at, each.expires_at, each.decided_at, each.note, each.result, each.session_id,
            )
            for each in self._approvals
        )  # fmt: skip
        waiting = len(self.pending)
        how = " · agent.approve(id) or agent.reject(id) decides" if waiting else ""
        note = " · ".join([*self._labels, f"{waiting} waiting{how}"])
        return tables.frame(
            rows, _COLUMNS, title=f"Approvals of {self._name}", note=note, empty="Nothing waits, and nothing ever did."
        )

    @overload
    def __getitem__(self, index: int) -> Approval: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Approval, ...]: ...
    def __getitem__(self, index: int | slice) -> Approval | tuple[Approval, ...]:
        return self._approvals[index]

    def __iter__(self) -> Iterator[Approval]:
        return iter(self._approvals)

    def __len__(self) -> int:
        return len(self._approvals)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()
