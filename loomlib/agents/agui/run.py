"""An AG-UI run as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

RUN_STATES: Final = ("not started", "running", "finished", "interrupted", "cancelled", "failed", "cut off")
"""The state of a run. `interrupted`: it waits for a person (`AguiRun.confirmations`); `cut off`: the stream ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AguiMessage:
    """A streamed message.

    Attributes:
        id: Its id.
        role: Its role.
        text: Its text.
        is_complete: Whether it has ended.
        kind: `text` or `reasoning`.
    """

    id: str
    role: str
    text: str = field(repr=False)
    is_complete: bool
    kind: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class AguiToolUse:
    """A tool call.

    Attributes:
        id: Its id.
        name: The tool's name.
        arguments_text: The arguments as received.
        arguments: The arguments; None while incomplete or not JSON.
        result: The result; None when there is none.
        state: `running`, `called` (its arguments are complete), `done` (its result has arrived) or `cut off` (the run
            ended before its arguments were complete).
    """

    id: str
    name: str
    arguments_text: str = field(repr=False)
    arguments: Any = field(repr=False)
    result: str | None = field(default=None, repr=False)
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A request for a person's decision; the next run's `resume` answers it by its id (see `answer_to`).

    Attributes:
        id: Its id.
        reason: Why the run was interrupted.
        message: The question.
        tool_call_id: The tool call that it concerns.
        response_schema: The JSON Schema of the answer.
        expires_at: Until when it can be answered.
    """

    id: str
    reason: str
    message: str = field(repr=False)
    tool_call_id: str | None = None
    response_schema: Mapping[str, Any] | None = field(default=None, repr=False)
    expires_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Progress beside the messages (a plan, a search).

    Attributes:
        id: Its id.
        type: Its type.
        content: Its content now.
    """

    id: str
    type: str
    content: Any = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subagent:
    """A subagent that the run started.

    Attributes:
        id: Its id.
        name: Its name.
        state: `running`, `finished`, `suspended`, `failed` or `cut off`.
        error: The error.
    """

    id: str
    name: str
    state: str
    error: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AguiRun:
    """The state of a run. `problems` are sentences: malformed events, wrong order, patches that do not apply.

    `history` are the messages as they are sent with the next run (see `conversation_of`); `is_full_history` says that
    the run sent the whole conversation itself. `usage` are the tokens that it reports, one entry per model.
    """

    status: str
    thread_id: str = ""
    run_id: str = ""
    text: str = field(default="", repr=False)
    messages: tuple[AguiMessage, ...] = field(default=(), repr=False)
    tools: tuple[AguiToolUse, ...] = ()
    state: Any = field(default=None, repr=False)
    confirmations: tuple[Confirmation, ...] = ()
    custom: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    steps: tuple[str, ...] = ()
    running_steps: tuple[str, ...] = ()
    activities: tuple[Activity, ...] = ()
    subagents: tuple[Subagent, ...] = ()
    usage: tuple[Mapping[str, Any], ...] = ()
    history: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    is_full_history: bool = False
    result: Any = field(default=None, repr=False)
    error: str = ""
    error_code: str = ""
    unknown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    events: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON-ready values."""
        return {
            "status": self.status,
            "thread_id": self.thread_id,
            "run_id": self.run_id,
            "text": self.text,
            "messages": [
                {
                    "id": message.id,
                    "role": message.role,
                    "text": message.text,
                    "complete": message.is_complete,
                    "kind": message.kind,
                }
                for message in self.messages
            ],
            "tools": [
                {
                    "id": tool.id,
                    "name": tool.name,
                    "arguments_text": tool.arguments_text,
                    "arguments": tool.arguments,
                    "result": tool.result,
                    "state": tool.state,
                }
                for tool in self.tools
            ],
            "state": self.state,
            "confirmations": [
                {
                    "id": confirmation.id,
                    "reason": confirmation.reason,
                    "message": confirmation.message,
                    "tool_call_id": confirmation.tool_call_id,
                    "response_schema": confirmation.response_schema,
                    "expires_at": confirmation.expires_at,
                }
                for confirmation in self.confirmations
            ],
            "custom": [{"name": name, "value": value} for name, value in self.custom],
            "steps": list(self.steps),
            "running_steps": list(self.running_steps),
            "activities": [
                {"id": activity.id, "type": activity.type, "content": activity.content} for activity in self.activities
            ],
            "subagents": [
                {"id": subagent.id, "name": subagent.name, "state": subagent.state, "error": subagent.error}
                for subagent in self.subagents
            ],
            "usage": [dict(entry) for entry in self.usage],
            "history": [dict(message) for message in self.history],
            "result": self.result,
            "error": self.error,
            "error_code": self.error_code,
            "unknown": list(self.unknown),
            "problems": list(self.problems),
            "events": self.events,
        }
