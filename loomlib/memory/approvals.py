"""What an agent waits for a person to approve, as its memory's ledger has it.

An agent (the blueprint `approvals` is one) notes each step of an approval as a blob event of the actor
`LEDGER_ACTOR`: a JSON object with the approval and its state. Events are never changed, so what is known of an approval
is what its events say together. What stands in them was written by an agent and is checked here like a stranger's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from ..aws.memory_shapes import MemoryEvent

LEDGER_ACTOR: Final = "loom-approvals"
"""The actor under which agents note approvals."""
APPROVAL_STATES: Final = ("pending", "approved", "rejected", "expired", "unclear", "done", "failed")
"""`approved` was decided and its end is not told (yet); `unclear` ended without anybody knowing whether it was done."""
_RANKS: Final = {"pending": 0, "approved": 1, "rejected": 2, "expired": 2, "unclear": 2, "done": 3, "failed": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A tool call that waits, or waited, for a person: `input` are its arguments, `note` is the person's word."""

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
    """The memory's session in which an agent of that name notes its approvals."""
    return f"{agent_name or 'agent'}-approvals"


def read_approvals(events: Iterable[MemoryEvent], *, now: datetime) -> list[Approval]:
    """The approvals that these events tell of, the last asked first; one that nobody decided in time is expired."""
    found: dict[str, Approval] = {}
    for event in events:
        told = _approval(event.text)
        if told is not None and (told.id not in found or _RANKS[told.state] > _RANKS[found[told.id].state]):
            found[told.id] = told
    approvals = [
        replace(each, state="expired", decided_at=each.expires_at)
        if each.state == "pending" and each.expires_at <= now
        else each
        for each in found.values()
    ]
    return sorted(approvals, key=lambda each: (each.asked_at, each.id), reverse=True)


def _approval(text: str) -> Approval | None:
    """The approval in an event; None for an event that is none."""
    try:
        given: object = json.loads(text)
        if not isinstance(given, dict):
            return None
        told = cast("dict[str, Any]", given)
        arguments: object = told.get("input")
        decided_at = told.get("decided_at")
        return Approval(
            id=_word(told["id"]),
            state=_state(told["state"]),
            tool=str(told["tool"]),
            input=cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {},
            session_id=_word(told["session_id"]),
            actor=_word(told["actor"]),
            asked_at=_moment(told["asked_at"]),
            expires_at=_moment(told["expires_at"]),
            decided_at=None if decided_at is None else _moment(decided_at),
            note=str(told.get("note") or ""),
            result=str(told.get("result") or ""),
        )
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError):
        return None


def _word(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("an approval is named by text")
    return value


def _state(value: object) -> str:
    if value not in _RANKS:
        raise ValueError(f"there is no state {value!r}")
    return str(value)


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(str(value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
