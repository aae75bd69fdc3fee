"""Traces of Bedrock Agents: the steps that an agent took."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
"""The JSON types other than strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStep:
    """One step of a trace.

    Attributes:
        agent: The collaborator that took it; "" for the root agent.
        kind: "model", "thought", "action", "search", "agent", "question", "retry", "answer", "guardrail" or "failure".
        name: What was called: a model, a function or operation, a knowledge base, a collaborator.
        input: Its input.
        output: Its output.
        duration_ms: Its duration as reported by Bedrock, in milliseconds; None if not reported.
        input_tokens: Number of input tokens of a model call.
        output_tokens: Number of output tokens of a model call.
        action_group: The action group of an action.
        arguments: The arguments of an action by name, each converted to its declared type; empty for other steps.
        executor: Who executes an action, as Bedrock names it: "LAMBDA" or "RETURN_CONTROL"; "" if not reported.
    """

    agent: str
    kind: str
    name: str
    input: str = ""
    output: str = ""
    duration_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    action_group: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    executor: str = ""


def trace_steps(trace: Iterable[Mapping[str, Any]]) -> Iterator[AgentStep]:
    """Yield the steps of a trace: each call with its result.

    Args:
        trace: The events of InvokeAgent's trace.
    """
    waiting: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for event in trace:
        agent: str = event.get("collaboratorName") or ""
        for kind, content in event["trace"].items():
            if kind == "guardrailTrace":
                assessments = {
                    name: content[name] for name in ("inputAssessments", "outputAssessments") if content.get(name)
                }
                yield AgentStep(
                    agent=agent, kind="guardrail", name=content.get("action", ""), output=_json(assessments)
                )
            elif kind == "failureTrace":
                yield AgentStep(agent=agent, kind="failure", name="", output=content.get("failureReason", ""))
            else:
                for member, inner in content.items():
                    if member in ("modelInvocationInput", "invocationInput"):
                        waiting.setdefault(agent, []).append((member, inner))
                    else:
                        yield from _ended(agent, member, inner, waiting.setdefault(agent, []))
    for agent, open_calls in waiting.items():
        for _, begun in open_calls:
            yield from _call_steps(agent, begun, {})


def _ended(
    agent: str, member: str, content: Mapping[str, Any], waiting: list[tuple[str, Mapping[str, Any]]]
) -> Iterator[AgentStep]:
    """Yield the step that an event of the orchestration completes."""
    if member == "rationale":
        yield AgentStep(agent=agent, kind="thought", name="", output=content.get("text", ""))
    elif member == "modelInvocationOutput":
        begun = _take_newest(waiting, "modelInvocationInput")
        about: Mapping[str, Any] = content.get("metadata") or {}
        usage: Mapping[str, int] = about.get("usage") or {}
        raw: Mapping[str, str] = content.get("rawResponse") or {}
        yield AgentStep(
            agent=agent,
            kind="model",
            name=begun.get("foundationModel", ""),
            input=begun.get("text", ""),
            output=raw.get("content", ""),
            duration_ms=about.get("totalTimeMs"),
            input_tokens=usage.get("inputTokens"),
            output_tokens=usage.get("outputTokens"),
        )
    elif member == "observation":
        kind: str = content.get("type", "")
        if kind in ("FINISH", "ASK_USER"):
            response: Mapping[str, Any] = content.get("finalResponse") or {}
            step_kind = "answer" if kind == "FINISH" else "question"
            yield AgentStep(agent=agent, kind=step_kind, name="", output=response.get("text", ""))
        elif kind == "REPROMPT":
            again: Mapping[str, Any] = content.get("repromptResponse") or {}
            yield from _call_steps(agent, _take_newest(waiting, "invocationInput"), {})
            yield AgentStep(agent=agent, kind="retry", name=again.get("source", ""), output=again.get("text", ""))
        else:
            yield from _call_steps(agent, _take_newest(waiting, "invocationInput"), content)


def _call_steps(agent: str, begun: Mapping[str, Any], ended: Mapping[str, Any]) -> Iterator[AgentStep]:
    """Yield the step of a call from its two events."""
    output: Mapping[str, Any] = ended.get("actionGroupInvocationOutput") or {}
    if action := begun.get("actionGroupInvocationInput"):
        name = action.get("function") or f"{str(action.get('verb', '')).upper()} {action.get('apiPath', '')}"
        arguments = {item["name"]: item.get("value", "") for item in arguments_of(action)}
        step = AgentStep(
            agent=agent,
            kind="action",
            name=name,
            input=_json(arguments),
            output=output.get("text", ""),
            action_group=action.get("actionGroupName", ""),
            arguments=typed_arguments(action),
            executor=action.get("executionType", ""),
        )
    elif search := begun.get("knowledgeBaseLookupInput"):
        output = ended.get("knowledgeBaseLookupOutput") or {}
        passages = "\n".join(item["content"].get("text", "") for item in output.get("retrievedReferences", ()))
        name, text = search.get("knowledgeBaseId", ""), search.get("text", "")
        step = AgentStep(agent=agent, kind="search", name=name, input=text, output=passages)
    elif invocation := begun.get("agentCollaboratorInvocationInput"):
        output = ended.get("agentCollaboratorInvocationOutput") or {}
        answer: Mapping[str, Any] = output.get("output") or {}
        task: Mapping[str, Any] = invocation.get("input") or {}
        name = invocation.get("agentCollaboratorName", "")
        step = AgentStep(
            agent=agent, kind="agent", name=name, input=task.get("text", ""), output=answer.get("text", "")
        )
    elif code := begun.get("codeInterpreterInvocationInput"):
        output = ended.get("codeInterpreterInvocationOutput") or {}
        result = output.get("executionOutput") or output.get("executionError") or ""
        step = AgentStep(agent=agent, kind="action", name="code", input=code.get("code", ""), output=result)
    elif output:  # the result of a call that an earlier turn returned to the caller
        step = AgentStep(agent=agent, kind="action", name="", output=output.get("text", ""))
    else:
        return
    about: Mapping[str, Any] = output.get("metadata") or {}
    yield replace(step, duration_ms=about.get("totalTimeMs"))


def _take_newest(waiting: list[tuple[str, Mapping[str, Any]]], member: str) -> Mapping[str, Any]:
    """Take the newest call of a kind that has no result yet."""
    for at in range(len(waiting) - 1, -1, -1):
        if waiting[at][0] == member:
            return waiting.pop(at)[1]
    return {}


def arguments_of(action: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """Yield the arguments of an action group's call: those of a function, or those of an API operation and its body."""
    yield from action.get("parameters") or ()
    body: Mapping[str, Any] = action.get("requestBody") or {}
    content: Mapping[str, Any] = body.get("content") or {}
    for entry in content.values():
        yield from entry["properties"] if isinstance(entry, Mapping) else entry


def typed_arguments(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an action group's call by name, each converted to the type that the call declares.

    Bedrock sends every value as a string. A value that does not have its declared type stays a string.

    Args:
        action: The call, as in a trace or a return of control.
    """
    return {item["name"]: _typed(item.get("type", "string"), item.get("value", "")) for item in arguments_of(action)}


def _typed(kind: str, value: Any) -> Any:
    expected = _TYPES.get(kind)
    if expected is None or not isinstance(value, str):
        return value
    try:
        read: Any = json.loads(value)
    except (ValueError, RecursionError):
        return value
    is_right = isinstance(read, expected) and (kind == "boolean" or not isinstance(read, bool))
    return cast("Any", read) if is_right else value


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if value else ""
