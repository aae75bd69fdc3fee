"""A real conversation with an agent: its requests, answers and tool calls."""

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

_UNKNOWN: Final = "the request had fields besides the prompt, which were not stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedTurn:
    """One request and its answer.

    Attributes:
        prompt: The text sent.
        answer: The answer; None when the request failed.
        payload: The JSON body, unless it was `{"prompt": prompt}`.
        tools: The tool calls; None when unknown.
        failure: A class of `loomlib.agents.FAILURES`; None when the request succeeded.
        error: The failure's message.
        invocation_id: The stored invocation.
        trace_id: The trace, "" when unknown.
        note: A remark for readers of the case.
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
    """The turns of one session in order.

    Attributes:
        turns: The turns.
        session_id: The session, "" when unknown.
        agent_name: The agent's name.
        labels: Labels of the invocations, such as "evaluation".
        unpassed: The evaluators that did not pass it, if it was scored.
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
        """Identity of the conversation, the same in every process."""
        first = next((turn.trace_id or str(turn.invocation_id or "") for turn in self.turns), "")
        return self.session_id or first or "|".join(turn.prompt for turn in self.turns)


@runtime_checkable
class ConversationSource(Protocol):
    """Something that has a conversation, such as the trace of an invocation."""

    def conversation(self) -> Conversation:
        """Return the conversation."""
        ...


@runtime_checkable
class Capturable(Protocol):
    """Something with a conversation, such as an invocation of the workbench."""

    @property
    def evals(self) -> ConversationSource:
        """Object whose `conversation()` returns the conversation."""
        ...


def conversation_of(source: object) -> Conversation:
    """Return the conversation of an invocation, a trace, or several of one session in order.

    Args:
        source: A `Conversation`, a `Capturable`, a `Trace` or `Trajectory`, or a sequence of these.

    Raises:
        EvalError: The request is unknown, or the parts belong to several sessions.
        TypeError: `source` is none of these.
    """
    if isinstance(source, Conversation):
        conversation = source
    elif isinstance(source, Capturable):
        conversation = source.evals.conversation()
    elif isinstance(source, ConversationSource):
        conversation = source.conversation()
    elif isinstance(source, (Trace, Trajectory)):
        conversation = _of_trace(source)
    elif isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        conversation = _joined([conversation_of(part) for part in cast("Sequence[object]", source)])
    else:
        raise TypeError(f"Pass an invocation, a trace or a list of them from one session, not {type(source).__name__}")
    if not conversation.turns or not any(turn.prompt.strip() or turn.payload for turn in conversation.turns):
        raise EvalError(
            "The request is unknown",
            on=conversation.session_id or conversation.agent_name,
            try_="capture the invocation itself, or a trace whose spans contain their messages",
        )
    return conversation


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
    """Return the turn of a stored invocation.

    Args:
        prompt: The stored prompt.
        answer: The stored answer.
        payload_digest: Hash of the body that was sent; shows whether it had fields besides the prompt.
        failure: Class of the failure.
        error: The failure's message.
        invocation_id: The invocation.
        trace_id: The trace.
        tools: The tool calls.
    """
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
        document: Any = json.loads(prompt)
    except (ValueError, RecursionError):
        return None, _UNKNOWN
    is_all = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest() == digest
    if isinstance(document, Mapping) and is_all:
        return cast("Mapping[str, Any]", document), ""
    return None, _UNKNOWN


def _of_trace(source: Trace | Trajectory) -> Conversation:
    read = source if isinstance(source, Trajectory) else trajectory(source)
    is_failed = "failed" in read.problems
    turn = CapturedTurn(
        prompt=read.prompt or "",
        answer=None if is_failed else read.final_answer,
        tools=tools_of(source),
        failure="agent_error" if is_failed else None,
        trace_id=source.trace_id if isinstance(source, Trace) else "",
    )
    return Conversation(turns=(turn,), agent_name=read.agent_name or "")


def _joined(parts: Sequence[Conversation]) -> Conversation:
    sessions = list(dict.fromkeys(part.session_id for part in parts if part.session_id))
    if len(sessions) > 1:
        raise EvalError(
            f"A case is one conversation, but these are {len(sessions)} sessions",
            on=", ".join(sessions[:3]),
            try_="capture each session by itself",
        )
    if not parts:
        return Conversation(turns=())
    return replace(
        parts[0],
        turns=tuple(turn for part in parts for turn in part.turns),
        session_id=sessions[0] if sessions else "",
        labels=tuple(dict.fromkeys(label for part in parts for label in part.labels)),
    )
