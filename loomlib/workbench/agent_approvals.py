"""Approve or reject an agent's pending actions."""

from __future__ import annotations

from typing import Any, Final

from ..agents import AgentEntry
from ..aws.bearer import Bearer, token_of
from ..deprecation import warn_renamed
from ..errors import LoomError
from ..memory.approvals import Approval
from ..presentation.formats import timestamp
from .approvals import ApprovalsView, read_agent_approvals
from .context import Context
from .invocation import Invocation

_MOST_EVENTS: Final = 5_000


class AgentApprovals:
    """The approvals of one agent; `agent.approvals`.

    They are stored in the agent's memory (`bench.deploy("approvals", memory=…)`), so any kernel with access to the
    memory can approve or reject.
    """

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str, bearer: Bearer | None = None) -> None:
        self._context, self._entry, self._qualifier, self._bearer = context, entry, qualifier, bearer

    def list(self, *, session_id: str | None = None, limit: int = _MOST_EVENTS) -> ApprovalsView:
        """Return pending and decided approvals, the newest request first; none for an agent without a memory.

        An approval that was not decided in time is `expired`.

            agent.approvals.list().pending

        Args:
            session_id: Only those of this runtime session.
            limit: Maximum number of memory events to read.
        """
        return read_agent_approvals(self._context, self._entry, session_id=session_id, limit=limit)

    def approve(self, id: str | Approval, *, note: str = "") -> Invocation:
        """Approve an action; the agent runs it and answers.

        Args:
            id: The approval, or its id.
            note: A comment stored with the decision.

        Raises:
            LoomError: No approval of that id is pending: it was decided, or it expired.
        """
        return self._decide(id, "approve", note)

    def reject(self, id: str | Approval, *, note: str = "") -> Invocation:
        """Reject an action; the agent receives `note` as the reason and answers.

        Args:
            id: The approval, or its id.
            note: The reason, stored with the decision.

        Raises:
            LoomError: No approval of that id is pending: it was decided, or it expired.
        """
        return self._decide(id, "reject", note)

    def _decide(self, id: str | Approval, decision: str, note: str) -> Invocation:
        approval_id, name = id if isinstance(id, str) else id.id, self._entry.name
        approvals = self.list()
        approval = next((candidate for candidate in approvals if candidate.id == approval_id), None)
        if approval is None:
            pending = (
                ", ".join(pending_approval.id for pending_approval in approvals.pending) or "no approval is pending"
            )
            raise LoomError("There is no such approval", on=f"{approval_id} of {name}", try_=pending)
        if approval.state not in ("pending", "approved"):
            at = "" if approval.decided_at is None else f" at {timestamp(approval.decided_at)}"
            raise LoomError(f"It was already decided: {approval.state}{at}", on=approval_id, try_="ask the agent again")
        payload: dict[str, Any] = {
            "approval": {"id": approval.id, "decision": decision, "note": note},
            "actor": approval.actor,
        }
        record = self._context.invoker.invoke(
            self._entry,
            None,
            payload=payload,
            session_id=approval.session_id,
            qualifier=self._qualifier,
            timeout_s=None,
            labels=self._context.labels,
            bearer=token_of(self._bearer),
        )
        return Invocation(record, self._context, self._entry)

    def __call__(self, *, session_id: str | None = None, limit: int = _MOST_EVENTS) -> ApprovalsView:
        """Use `list()` instead."""
        warn_renamed("Agent.approvals()", "Agent.approvals.list()")
        return self.list(session_id=session_id, limit=limit)

    def __repr__(self) -> str:
        return repr(self.list())

    def _repr_html_(self) -> str:
        return self.list()._repr_html_()  # pyright: ignore[reportPrivateUsage]
