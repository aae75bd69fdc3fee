"""A conversation that took place: what was said to an agent, what it answered, which tools it used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, cast, runtime_checkable

from loomlib.agents.payloads import make_payload
from loomlib.errors import EvalError
from loomlib.telemetry import Trace, Trajectory, trajectory

from ..trajectories import tools_of
from ..values.tool_use import ToolUse

_UNKNOWN: Final = "more was sent beside the prompt, and is not stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTurn:
    """One thing said and its answer. `tools` None: nobody knows. `failure` is a class of `loomlib.agents.FAILURES`.

    `payload` is what was sent when it was not `{"prompt": prompt}`. `note` is what a reader of the case must know.
    """

    prompt: str
    answer: str | None = None
    payload: Mapping[str, Any] | None = None
    tools: tuple[ToolUse, ...] | None = None
    failure: str | None = None
    error: str = ""
    invocation_id: int | None = None
    trace_id: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The turns of one session, in their order. `labels` are those of its invocations ("evaluation").

    `unpassed` says which evaluator did not let it pass, where it was judged already.
    """

    turns: tuple[CapturedTurn, ...]
    session_id: str = ""
    agent_name: str = ""
    labels: tuple[str, ...] = ()
    unpassed: str = ""

    @property
    def failure(self) -> str | None:
        """The class of the first failed turn, None when every turn was answered."""
        return next((turn.failure for turn in self.turns if turn.failure is not None), None)

    @property
    def identity(self) -> str:
        """What tells it from every other, in every process that looks at it."""
        first = next((turn.trace_id or str(turn.invocation_id or "") for turn in self.turns), "")
        return self.session_id or first or "|".join(turn.prompt for turn in self.turns)

    def captured(self) -> Conversation:
        """Itself."""
        return self


@runtime_checkable
class Capturable(Protocol):
    """Something that can tell which conversation it was: an invocation of a workbench, its trace."""

    def captured(self) -> Conversation: ...


def conversation_of(source: object) -> Conversation:
    """The conversation that `source` means: a `Capturable`, a `Trace` or `Trajectory`, or several in their order.

    Several are the turns of one conversation. Raises `EvalError` when nothing was asked, `TypeError` for what is none.
    """
    if isinstance(source, Capturable):
        found = source.captured()
    elif isinstance(source, (Trace, Trajectory)):
        found = _of_trace(source)
    elif isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        found = _joined([conversation_of(each) for each in cast("Sequence[object]", source)])
    else:
        raise TypeError(f"an invocation, a trace or several of a session can be captured, not {type(source).__name__}")
    if not found.turns or not any(turn.prompt.strip() or turn.payload for turn in found.turns):
        raise EvalError(
            "Nobody knows what the agent was asked",
            on=found.session_id or found.agent_name,
            try_="the invocation itself, or a trace whose spans carry their messages",
        )
    return found


def turn_of_row(
    *,
    prompt: str | None,
    answer: str | None,
    payload_digest: str | None,
    failure: str | None = None,
    error: str = "",
    invocation_id: int | None = None,
    trace_id: str | None = None,
    tools: tuple[ToolUse, ...] | None = None,
) -> CapturedTurn:
    """The turn of a stored invocation, whose digest tells whether the prompt was all that was sent."""
    payload, note = _payload(prompt or "", payload_digest)
    if payload is not None:
        own = payload.get("prompt")
        prompt = own if isinstance(own, str) else prompt
    return CapturedTurn(
        prompt=prompt or "",
        answer=None if failure is not None else answer,
        payload=payload,
        tools=tools,
        failure=failure,
        error=error,
        invocation_id=invocation_id,
        trace_id=trace_id or "",
        note=note,
    )


def _payload(prompt: str, digest: str | None) -> tuple[Mapping[str, Any] | None, str]:
    if digest is None or make_payload(prompt).digest == digest:
        return None, ""
    try:
        found: Any = json.loads(prompt)
    except (ValueError, RecursionError):
        return None, _UNKNOWN
    is_all = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() == digest
    if isinstance(found, Mapping) and is_all:
        return cast("Mapping[str, Any]", found), ""
    return None, _UNKNOWN


def _of_trace(source: Trace | Trajectory) -> Conversation:
    said = source if isinstance(source, Trajectory) else trajectory(source)
    is_failed = "failed" in said.problems
    turn = CapturedTurn(
        prompt=said.prompt or "",
        answer=None if is_failed else said.final_answer,
        tools=tools_of(source),
        failure="agent_error" if is_failed else None,
        trace_id=source.trace_id if isinstance(source, Trace) else "",
    )
    return Conversation(turns=(turn,), agent_name=said.agent_name or "")


def _joined(parts: Sequence[Conversation]) -> Conversation:
    sessions = list(dict.fromkeys(part.session_id for part in parts if part.session_id))
    if len(sessions) > 1:
        raise EvalError(
            f"These are {len(sessions)} sessions, and a case is one conversation",
            on=", ".join(sessions[:3]),
            try_="capture them one after the other",
        )
    if not parts:
        return Conversation(turns=())
    return replace(
        parts[0],
        turns=tuple(turn for part in parts for turn in part.turns),
        session_id=sessions[0] if sessions else "",
        labels=tuple(dict.fromkeys(label for part in parts for label in part.labels)),
    )
