"""Approvals: tool calls of an agent that wait for a person's decision, read from the events of its memory.

An agent (for example the blueprint `approvals`) writes each step of an approval as a blob event of the actor
`LEDGER_ACTOR`: a JSON object with the approval and its state. Events are never changed, so the current state of an
approval follows from all of its events. The agent wrote their content, so it is validated here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from ..aws.memory_shapes import MemoryEvent

LEDGER_ACTOR: Final = "loom-approvals"
"""The actor under which agents record approvals."""
APPROVAL_STATES: Final = ("pending", "approved", "rejected", "expired", "unclear", "done", "failed")
"""`approved`: approved, no outcome recorded (yet); `unclear`: ended, and it is unknown whether the call was made."""
_RANKS: Final = {"pending": 0, "approved": 1, "rejected": 2, "expired": 2, "unclear": 2, "done": 3, "failed": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A tool call that needs, or needed, a person's decision.

    Attributes:
        id: The approval's id.
        state: One of `APPROVAL_STATES`.
        tool: Name of the tool.
        input: Arguments of the tool call.
        session_id: Runtime session in which the agent asked.
        actor: The actor for whom the agent asked.
        asked_at: When the agent asked.
        expires_at: When the approval expires without a decision.
        decided_at: When it was decided, or expired.
        note: The person's comment on the decision.
        result: Result of the tool call.
    """

    id: str
    state: str
    tool: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    session_id: str
    actor: str
    asked_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    note: str = field(default="", repr=False)
    result: str = field(default="", repr=False)

    @property
    def is_pending(self) -> bool:
        """Whether a decision can still be made."""
        return self.state == "pending"


def ledger_session(agent_name: str) -> str:
    """Return the memory session in which the agent `agent_name` records its approvals."""
    return f"{agent_name or 'agent'}-approvals"


def read_approvals(events: Iterable[MemoryEvent], *, now: datetime) -> list[Approval]:
    """Return the approvals that these events record, the most recently requested first.

    Args:
        events: Events of `LEDGER_ACTOR`; those that are not an approval are skipped.
        now: An approval that is still pending and expired before this time has the state `expired`.
    """
    latest: dict[str, Approval] = {}
    for event in events:
        approval = _parse(event.text)
        if approval is None:
            continue
        if approval.id not in latest or _RANKS[approval.state] > _RANKS[latest[approval.id].state]:
            latest[approval.id] = approval
    approvals = [
        replace(approval, state="expired", decided_at=approval.expires_at)
        if approval.state == "pending" and approval.expires_at <= now
        else approval
        for approval in latest.values()
    ]
    return sorted(approvals, key=lambda approval: (approval.asked_at, approval.id), reverse=True)


def _parse(text: str) -> Approval | None:
    """Return the approval in an event's text; None when the text is not an approval."""
    try:
        parsed: object = json.loads(text)
        if not isinstance(parsed, dict):
            return None
        fields = cast("dict[str, Any]", parsed)
        arguments: object = fields.get("input")
        decided_at = fields.get("decided_at")
        return Approval(
            id=_name(fields["id"]),
            state=_state(fields["state"]),
            tool=str(fields["tool"]),
            input=cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {},
            session_id=_name(fields["session_id"]),
            actor=_name(fields["actor"]),
            asked_at=_time(fields["asked_at"]),
            expires_at=_time(fields["expires_at"]),
            decided_at=None if decided_at is None else _time(decided_at),
            note=str(fields.get("note") or ""),
            result=str(fields.get("result") or ""),
        )
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError):
        return None


def _name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("ids of an approval are non-empty strings")
    return value


def _state(value: object) -> str:
    if value not in _RANKS:
        raise ValueError(f"unknown state {value!r}")
    return str(value)


def _time(value: object) -> datetime:
    time = datetime.fromisoformat(str(value))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
