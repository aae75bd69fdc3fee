"""What the agent did, step by step: messages, tool calls with arguments, results and their status, the final answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import dropwhile, takewhile
from typing import Any

from .messages import Step
from .values import as_list, as_mapping, text_of

_ROLES = {"tool_call": "assistant", "tool_result": "tool"}
_STEP_FIELDS = tuple(each.name for each in fields(Step))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExchange:
    """A tool call with what came of it. `is_answered`: a result is known, be it without content.

    `status` is `success`, `error`, or "" where nothing says.
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
        """Whether the tool said that it failed."""
        return self.status == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What one agent did in a trace.

    `steps` are in the order in which they were said, from this invocation's prompt on (the system's words before it);
    what the conversation held before is `history`. `problems` names what is missing or odd (`TRAJECTORY_PROBLEMS`).
    `agents` are the trajectories of agents that it called, each with the `call_id` of the tool call in which it ran.
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
        """What the system said, if it did."""
        texts = [step.text for step in self.steps if step.kind == "system"]
        return "\n".join(texts) if texts else None

    @property
    def prompt(self) -> str | None:
        """What the user asked: all the words of the message with which this invocation began."""
        asked = list(
            takewhile(lambda step: step.kind == "user", dropwhile(lambda step: step.kind != "user", self.steps))
        )
        return "\n".join(step.text for step in asked if step.is_words or len(asked) == 1) if asked else None

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools in the order in which they were called."""
        return tuple(step.name for step in self.steps if step.kind == "tool_call")

    @property
    def tool_calls(self) -> tuple[ToolExchange, ...]:
        """Each tool call with its result, in the order of the calls."""
        results = {step.call_id: step for step in self.steps if step.kind == "tool_result"}
        return tuple(_use(step, results.get(step.call_id)) for step in self.steps if step.kind == "tool_call")

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """The steps as a chat: `role` (`system`, `user`, `assistant`, `tool`) and `content`, as most libraries take it.

        An assistant's message has `tool_calls` (`id`, `name`, `arguments`) where it made any; a tool's has
        `tool_call_id`, `name` and `status`.
        """
        found: list[dict[str, Any]] = []
        for step in self.steps:
            role = _ROLES.get(step.kind, step.kind)
            if step.kind == "tool_result":
                more = {"tool_call_id": step.call_id, "name": step.name, "status": step.status}
                found.append({"role": role, "content": text_of(step.result), **more})
                continue
            if not found or found[-1]["role"] != role:
                found.append({"role": role, "content": ""})
            message = found[-1]
            if step.kind == "tool_call":
                call = {"id": step.call_id, "name": step.name, "arguments": step.arguments}
                message["tool_calls"] = [*message.get("tool_calls", ()), call]
            elif step.is_words:
                message["content"] = "\n".join(filter(None, (message["content"], step.text)))
        return tuple(found)

    def table(self) -> list[dict[str, Any]]:
        """One row a step, ready for a DataFrame."""
        return [
            {
                "step": place,
                "kind": step.kind,
                "text": step.text,
                "tool": step.name,
                "call_id": step.call_id,
                "arguments": step.arguments,
                "result": step.result,
                "status": step.status,
                "span_id": step.span_id,
            }
            for place, step in enumerate(self.steps, 1)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; `from_dict` makes an equal trajectory of it.

        Arguments and results that are no JSON (bytes, say) become text.
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
        """The trajectory that `as_dict` wrote down. Raises `ValueError` for what is none."""
        if not isinstance(value.get("steps"), list | tuple):
            raise ValueError("this is no trajectory: it has no list of steps")
        return cls(
            agent_name=_text_or_none(value.get("agent_name")),
            span_id=text_of(value.get("span_id")),
            call_id=text_of(value.get("call_id")),
            final_answer=_text_or_none(value.get("final_answer")),
            problems=tuple(text_of(each) for each in as_list(value.get("problems"))),
            steps=tuple(_steps(value["steps"])),
            history=tuple(_steps(value.get("history"))),
            agents=tuple(cls.from_dict(_mapping(each)) for each in as_list(value.get("agents"))),
        )


TRAJECTORY_PROBLEMS = {
    "no_spans": "the trace has no span of an agent, a model call or a tool",
    "no_model_call": "no model call is in the trace",
    "no_content": "the spans carry no messages",
    "no_result": "a tool call has no result",
    "failed": "the agent's run, or its last model call, ended in an error",
    "values_cut": "something that was said was too long to be kept whole",
}
"""What `Trajectory.problems` names."""


def _use(call: Step, result: Step | None) -> ToolExchange:
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
    """The value as JSON would give it back."""
    try:
        return json.loads(json.dumps(value, default=text_of))
    except (ValueError, TypeError, RecursionError):
        return text_of(value)


def _steps(value: object) -> Iterable[Step]:
    for each in as_list(value):
        known = _mapping(each)
        try:
            yield Step(**{name: known[name] for name in _STEP_FIELDS if name in known})
        except TypeError as error:
            raise ValueError(f"this is no step of a trajectory: {error}") from error


def _mapping(value: object) -> Mapping[str, Any]:
    found = as_mapping(value)
    if found is None:
        raise ValueError(f"a trajectory holds objects here, not a {type(value).__name__}")
    return found


def _text_or_none(value: object) -> str | None:
    return None if value is None else text_of(value)
