"""What an agent was asked before."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from .agent import Agent
    from .bench import Workbench
    from .invocation import Invocation


class AgentHistory:
    """The part of `Agent` that reads stored conversations."""

    entry: AgentEntry
    bench: Workbench

    def conversation(self, session_id: str, *, limit: int = 200) -> list[Invocation]:
        """The last `limit` invocations of a session, oldest first.

        for inv in agent.conversation(session_id):
            print(inv.record.prompt, "→", inv.text)
        """
        from .invocation import Invocation

        rows = self.bench.store.invocations.list(agent_id=self.entry.id, session_id=session_id, limit=limit)
        return [Invocation(self.bench.record_of(row), cast("Agent", self)) for row in reversed(rows)]

    def invocation(self, id: int) -> Invocation:
        """The stored invocation of that number; `LoomError` when the agent has none."""
        from ..errors import LoomError
        from .invocation import Invocation

        row = self.bench.store.invocations.get(id)
        if row is None or row.agent_id != self.entry.id:
            raise LoomError(
                "The agent has no such invocation", on=f"{id} of {self.entry.name}", try_="agent.sessions()"
            )
        return Invocation(self.bench.record_of(row), cast("Agent", self))
