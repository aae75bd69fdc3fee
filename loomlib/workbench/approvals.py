"""An agent's actions that require a person's approval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, overload

from ..agents import AgentEntry
from ..aws.runtimes import runtime_variables
from ..memory.approvals import LEDGER_ACTOR, Approval, ledger_session, read_approvals
from . import memory_tables as tables
from .bench_memories import Memories
from .context import Context

if TYPE_CHECKING:
    from .memory_frame import MemoryFrame

_COLUMNS = (
    "id",
    "state",
    "tool",
    "input",
    "actor",
    "asked_at",
    "expires_at",
    "decided_at",
    "note",
    "result",
    "session_id",
)


class ApprovalsView(Sequence[Approval]):
    """An agent's approvals, the newest request first; returned by `agent.approvals.list()`."""

    def __init__(self, approvals: Sequence[Approval], *, agent_name: str, labels: Sequence[str] = ()) -> None:
        self._approvals, self._name, self._labels = tuple(approvals), agent_name, tuple(labels)

    @property
    def pending(self) -> tuple[Approval, ...]:
        """The approvals that can still be decided."""
        return tuple(approval for approval in self if approval.is_pending)

    def table(self) -> MemoryFrame:
        """Return one row per approval."""
        rows = (
            (
                approval.id,
                approval.state,
                approval.tool,
                json.dumps(dict(approval.input), ensure_ascii=False, default=repr),
                approval.actor,
                approval.asked_at,
                approval.expires_at,
                approval.decided_at,
                approval.note,
                approval.result,
                approval.session_id,
            )
            for approval in self._approvals
        )
        waiting = len(self.pending)
        how = " · decide with agent.approvals.approve(id) or .reject(id)" if waiting else ""
        note = " · ".join([*self._labels, f"{waiting} waiting{how}"])
        return tables.frame(
            rows,
            _COLUMNS,
            title=f"Approvals of {self._name}",
            note=note,
            empty="The agent has not asked for an approval yet.",
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


def read_agent_approvals(
    context: Context, entry: AgentEntry, *, session_id: str | None = None, limit: int = 5_000
) -> ApprovalsView:
    """Return an agent's approvals, read from the memory that it was deployed with.

    Args:
        context: The workbench's resources.
        entry: The agent.
        session_id: Only those of this runtime session.
        limit: Maximum number of memory events to read.
    """
    names = ("LOOM_MEMORY_ID", "BEDROCK_AGENTCORE_MEMORY_ID", "LOOM_AGENT_NAME")
    variables = runtime_variables(context.clients, entry.runtime_id, names, region=entry.region)
    memory_id = variables.get("LOOM_MEMORY_ID") or variables.get("BEDROCK_AGENTCORE_MEMORY_ID")
    approvals: list[Approval] = []
    if memory_id:
        reader = Memories(context).get(memory_id, region=entry.region).reader
        session = ledger_session(variables.get("LOOM_AGENT_NAME", ""))
        approvals = read_approvals(reader.events(LEDGER_ACTOR, session=session, limit=limit), now=datetime.now(UTC))
    session_approvals = [approval for approval in approvals if session_id is None or approval.session_id == session_id]
    return ApprovalsView(session_approvals, agent_name=entry.name, labels=context.labels)
