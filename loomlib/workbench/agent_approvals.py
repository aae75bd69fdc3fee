"""The part of an agent that lets a person decide: what waits, approve, reject."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import LoomError

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from ..memory.approvals import Approval
    from .approvals_view import ApprovalsView
    from .bench import Workbench
    from .invocation import Invocation

_READ_AT_MOST = 5_000


class ApprovingAgent:
    """What waits for a person lies in the agent's memory, so any kernel that can read that can decide."""

    entry: AgentEntry
    bench: Workbench
    qualifier: str

    def approvals(self, *, session_id: str | None = None, limit: int = _READ_AT_MOST) -> ApprovalsView:
        """What waits for a person's approval and what was decided, the last asked first (of one runtime session).

        Read from the memory that the agent was deployed with (`bench.deploy("approvals", memory=…)`), in at most
        `limit` events. An approval that nobody decided in time is `expired`. None for an agent without a memory.

            agent.approvals().pending
        """
        from ..aws.runtimes import runtime_variables
        from ..memory.approvals import LEDGER_ACTOR, ledger_session, read_approvals
        from .approvals_view import ApprovalsView

        names = ("LOOM_MEMORY_ID", "BEDROCK_AGENTCORE_MEMORY_ID", "LOOM_AGENT_NAME")
        region = self.entry.region
        told = runtime_variables(self.bench.clients, self.entry.runtime_id, names, region=region)
        memory_id = told.get("LOOM_MEMORY_ID") or told.get("BEDROCK_AGENTCORE_MEMORY_ID")
        found: list[Approval] = []
        if memory_id:
            reader = self.bench.memory(memory_id, region=region).reader
            place = ledger_session(told.get("LOOM_AGENT_NAME", ""))
            found = read_approvals(reader.events(LEDGER_ACTOR, session=place, limit=limit), now=datetime.now(UTC))
        kept = [each for each in found if session_id is None or each.session_id == session_id]
        return ApprovalsView(kept, agent_name=self.entry.name, labels=self.bench.labels)

    def approve(self, id: str | Approval, *, note: str = "") -> Invocation:
        """Let what waits happen; the answer is what the agent says then. `note` is kept with the decision.

        Raises `LoomError` when nothing waits under that id: it was decided, or it expired.
        """
        return self._decide(id, "approve", note)

    def reject(self, id: str | Approval, *, note: str = "") -> Invocation:
        """Keep what waits from happening; the agent is told `note` as the reason. Raises as `approve` does."""
        return self._decide(id, "reject", note)

    def _decide(self, id: str | Approval, decision: str, note: str) -> Invocation:
        from .agent import Agent

        wanted = id if isinstance(id, str) else id.id
        known = self.approvals()
        found = next((each for each in known if each.id == wanted), None)
        if found is None:
            waiting = ", ".join(each.id for each in known.pending) or "nothing waits"
            raise LoomError("There is no such approval", on=f"{wanted} of {self.entry.name}", try_=waiting)
        if found.state not in ("pending", "approved"):
            at = "" if found.decided_at is None else f" at {found.decided_at:%Y-%m-%d %H:%M:%S} UTC"
            raise LoomError(f"It is decided: {found.state}{at}", on=wanted, try_="asking the agent anew")
        payload: dict[str, Any] = {
            "approval": {"id": found.id, "decision": decision, "note": note},
            "actor": found.actor,
        }
        return Agent(self.entry, self.bench, qualifier=self.qualifier).invoke(
            payload=payload, session_id=found.session_id
        )
