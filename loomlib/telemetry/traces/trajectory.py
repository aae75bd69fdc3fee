"""A trajectory as a value: messages, tool calls with arguments, results with status, and the final answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from dataclasses import fields as dataclass_fields
from itertools import dropwhile, takewhile
from typing import Any

from loomlib.json_values import as_list, mapping_or_none, to_text

from .messages import Step

_ROLES = {"tool_call": "assistant", "tool_result": "tool"}
_STEP_FIELDS = tuple(item.name for item in dataclass_fields(Step))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExchange:
    """A tool call with its result.

    Attributes:
        name: The tool's name.
        call_id: The id of the call.
        arguments: The arguments.
        result: The result, None when there is none.
        status: `success`, `error`, or "" when none is stated.
        is_answered: Whether there is a result, even one without content.
        span_id: The span that the result, else the call, was read from.
    """

    name: str
    call_id: str
    arguments: Any = None
    result: Any = None
    status: str = ""
    is_answered: bool = False
    span_id: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether the tool reported an error."""
        return self.status == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What one agent did in a trace.

    Attributes:
        agent_name: The agent's name.
        steps: Its steps in order, from this invocation's prompt on, with the system prompt before it.
        final_answer: The final answer; None when there is none.
        span_id: The agent's span, "" when it has none.
        call_id: The tool call in which it ran, for an agent that another agent called; else "".
        problems: What is missing or unusual, keys of `TRAJECTORY_PROBLEMS`.
        history: The steps of earlier invocations of the conversation.
        agents: The trajectories of the agents it called.
    """

    agent_name: str | None
    steps: tuple[Step, ...]
    final_answer: str | None
    span_id: str = ""
    call_id: str = ""
    problems: tuple[str, ...] = ()
    history: tuple[Step, ...] = field(default=(), repr=False)
    agents: tuple[Trajectory, ...] = field(default=(), repr=False)

    @property
    def system_prompt(self) -> str | None:
        """The system prompt; None when there is none."""
        texts = [step.text for step in self.steps if step.kind == "system"]
        return "\n".join(texts) if texts else None

    @property
    def prompt(self) -> str | None:
        """The text of the user message that started this invocation; None when there is none."""
        texts = list(
            takewhile(lambda step: step.kind == "user", dropwhile(lambda step: step.kind != "user", self.steps))
        )
        return "\n".join(step.text for step in texts if step.is_words or len(texts) == 1) if texts else None

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the called tools in order."""
        return tuple(step.name for step in self.steps if step.kind == "tool_call")

    @property
    def tool_calls(self) -> tuple[ToolExchange, ...]:
        """Each tool call with its result, in the order of the calls."""
        results = {step.call_id: step for step in self.steps if step.kind == "tool_result"}
        return tuple(_exchange(step, results.get(step.call_id)) for step in self.steps if step.kind == "tool_call")

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """The steps as chat messages with `role` (`system`, `user`, `assistant`, `tool`) and `content`.

        An assistant message has `tool_calls` (`id`, `name`, `arguments`) where it made any; a tool message has
        `tool_call_id`, `name` and `status`.
        """
        chat: list[dict[str, Any]] = []
        for step in self.steps:
            role = _ROLES.get(step.kind, step.kind)
            if step.kind == "tool_result":
                more = {"tool_call_id": step.call_id, "name": step.name, "status": step.status}
                chat.append({"role": role, "content": to_text(step.result), **more})
                continue
            if not chat or chat[-1]["role"] != role:
                chat.append({"role": role, "content": ""})
            message = chat[-1]
            if step.kind == "tool_call":
                call = {"id": step.call_id, "name": step.name, "arguments": step.arguments}
                message["tool_calls"] = [*message.get("tool_calls", ()), call]
            elif step.is_words:
                message["content"] = "\n".join(filter(None, (message["content"], step.text)))
        return tuple(chat)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per step, ready for a DataFrame."""
        return [
            {
                "step": number,
                "kind": step.kind,
                "text": step.text,
                "tool": step.name,
                "call_id": step.call_id,
                "arguments": step.arguments,
                "result": step.result,
                "status": step.status,
                "span_id": step.span_id,
            }
            for number, step in enumerate(self.steps, 1)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the trajectory as JSON-ready values; `from_dict` restores an equal one.

        Arguments and results that JSON cannot hold (bytes, for example) become text.
        """
        return {
            "agent_name": self.agent_name,
            "span_id": self.span_id,
            "call_id": self.call_id,
            "final_answer": self.final_answer,
            "problems": list(self.problems),
            "steps": [_step_dict(step) for step in self.steps],
            "history": [_step_dict(step) for step in self.history],
            "agents": [agent.as_dict() for agent in self.agents],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Trajectory:
        """Restore a trajectory from what `as_dict` returned.

        Raises:
            ValueError: `value` is not a trajectory.
        """
        if not isinstance(value.get("steps"), list | tuple):
            raise ValueError("not a trajectory: it has no list of steps")
        return cls(
            agent_name=_text_or_none(value.get("agent_name")),
            span_id=to_text(value.get("span_id")),
            call_id=to_text(value.get("call_id")),
            final_answer=_text_or_none(value.get("final_answer")),
            problems=tuple(map(to_text, as_list(value.get("problems")))),
            steps=tuple(_steps(value["steps"])),
            history=tuple(_steps(value.get("history"))),
            agents=tuple(cls.from_dict(_mapping(agent)) for agent in as_list(value.get("agents"))),
        )


TRAJECTORY_PROBLEMS = {
    "no_spans": "the trace has no span of an agent, a model call or a tool",
    "no_model_call": "the trace has no model call",
    "no_content": "the spans carry no messages",
    "no_result": "a tool call has no result",
    "failed": "the agent's run or its last model call ended in an error",
    "values_cut": "a message or tool result was truncated because it is too long",
}
"""The problems that `Trajectory.problems` names, with what each means."""


def _exchange(call: Step, result: Step | None) -> ToolExchange:
    return ToolExchange(
        name=call.name,
        call_id=call.call_id,
        arguments=call.arguments,
        result=None if result is None else result.result,
        status="" if result is None else result.status,
        is_answered=result is not None,
        span_id=call.span_id if result is None else result.span_id,
    )


def _step_dict(step: Step) -> dict[str, Any]:
    return asdict(step) | {"arguments": _json(step.arguments), "result": _json(step.result)}


def _json(value: Any) -> Any:
    """Return the value as it would be after a round trip through JSON."""
    try:
        return json.loads(json.dumps(value, default=to_text))
    except (ValueError, TypeError, RecursionError):
        return to_text(value)


def _steps(value: object) -> Iterable[Step]:
    for item in as_list(value):
        values = _mapping(item)
        try:
            yield Step(**{name: values[name] for name in _STEP_FIELDS if name in values})
        except TypeError as error:
            raise ValueError(f"not a step of a trajectory: {error}") from error


def _mapping(value: object) -> Mapping[str, Any]:
    fields = mapping_or_none(value)
    if fields is None:
        raise ValueError(f"a trajectory has an object here, not a {type(value).__name__}")
    return fields


def _text_or_none(value: object) -> str | None:
    return None if value is None else to_text(value)
