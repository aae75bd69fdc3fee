"""Calls of action groups in the forms of Lambda events, of the trace, and of return of control."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..wire import RefusedError, invalid
from .tools import AgentTool

_BAD_ANSWER = (
    "The server encountered an error processing the Lambda response. Check the Lambda response and retry the request"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionAnswer:
    """The result of a Lambda function, or of the caller for return of control.

    Attributes:
        text: The text for the model.
        reprompts: Whether the result is a failure that the model should correct.
        attributes: The session attributes; None to leave them unchanged.
        prompt_attributes: The prompt session attributes, likewise.
        searches: The configuration of later searches, by knowledge base.
    """

    text: str
    reprompts: bool = False
    attributes: Mapping[str, str] | None = None
    prompt_attributes: Mapping[str, str] | None = None
    searches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def dependency_failed(message: str, resource: str = "") -> RefusedError:
    """Return the error for a failed dependency of an agent (424)."""
    return RefusedError("DependencyFailedException", 424, message, resourceName=resource)


def call_document(tool: AgentTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call in the form of Lambda events and returns of control: action group, operation and parameters.

    Args:
        tool: A tool of an action group.
        arguments: The model's arguments.
    """
    call: dict[str, Any] = {"actionGroup": tool.group, "parameters": _listed(arguments, tool.types)}
    if tool.kind == "function":
        return {**call, "function": tool.function}
    call |= {"apiPath": tool.path, "httpMethod": tool.method}
    if tool.body_types is not None:
        fields = _listed(arguments, tool.body_types)
        call["requestBody"] = {"content": {tool.content_type: {"properties": fields}}}
    return call


def trace_input(tool: AgentTool, call: Mapping[str, Any], execution: str, invocation_id: str = "") -> dict[str, Any]:
    """Return the trace's `actionGroupInvocationInput` of a call.

    Args:
        tool: The tool.
        call: The result of `called`.
        execution: LAMBDA or RETURN_CONTROL.
        invocation_id: The id of a return of control.
    """
    invocation = {"actionGroupName": tool.group, "executionType": execution, "parameters": call["parameters"]}
    if invocation_id:
        invocation["invocationId"] = invocation_id
    if tool.kind == "function":
        return {**invocation, "function": tool.function}
    invocation |= {"apiPath": tool.path, "verb": tool.method.lower()}
    if body := call.get("requestBody"):
        invocation["requestBody"] = {"content": {kind: item["properties"] for kind, item in body["content"].items()}}
    return invocation


def read_lambda_answer(tool: AgentTool, payload: str) -> ActionAnswer:
    """Read the result of a Lambda function.

    Args:
        tool: The tool that was called.
        payload: The function's result as JSON.

    Raises:
        RefusedError: The function reports a failure, or its answer lacks the documented form (424).
    """
    answer = _object(json.loads(payload))
    response = _object(answer.get("response"))
    if tool.kind == "function":
        is_match = response.get("function") == tool.function
        inner = _object(response.get("functionResponse"))
        state, body = inner.get("responseState"), _object(inner.get("responseBody"))
    else:
        is_match = (response.get("apiPath"), str(response.get("httpMethod")).upper()) == (tool.path, tool.method)
        state, body = response.get("responseState"), _object(response.get("responseBody"))
    if not is_match or response.get("actionGroup") != tool.group or not body:
        raise dependency_failed(_BAD_ANSWER, str(tool.part["document"]["actionGroupExecutor"].get("lambda", "")))
    text = _body_text(body)
    if state == "FAILURE":
        raise dependency_failed(f"The action group {tool.group} failed: {text}")
    searches = {
        str(item.get("knowledgeBaseId")): _object(item.get("retrievalConfiguration"))
        for item in map(_object, cast("list[Any]", answer.get("knowledgeBasesConfiguration") or []))
    }
    return ActionAnswer(
        text=text,
        reprompts=state == "REPROMPT",
        attributes=_texts(answer.get("sessionAttributes")),
        prompt_attributes=_texts(answer.get("promptSessionAttributes")),
        searches=searches,
    )


def read_given_answer(result: Mapping[str, Any]) -> ActionAnswer:
    """Read a result of `returnControlInvocationResults`.

    Args:
        result: Its `functionResult` or `apiResult`.

    Raises:
        RefusedError: The caller reports a failure (424), or sends images (400).
    """
    bodies: Mapping[str, Mapping[str, Any]] = result.get("responseBody") or {}
    if any(body.get("images") for body in bodies.values()):
        raise invalid("The local AgentCore supports only text, not images, in results of a return of control")
    text = _body_text(bodies)
    if result.get("responseState") == "FAILURE":
        raise dependency_failed(f"The action group {result['actionGroup']} failed: {text}")
    return ActionAnswer(text=text, reprompts=result.get("responseState") == "REPROMPT")


def is_answer_to(result: Mapping[str, Any], pending_call: Mapping[str, Any]) -> bool:
    """Return whether a result from the caller belongs to a pending call.

    Args:
        result: A `functionResult` or `apiResult`.
        pending_call: The call as it was sent to the caller.
    """
    members = ("actionGroup", "function") if "function" in pending_call else ("actionGroup", "apiPath")
    same_method = str(result.get("httpMethod") or "").upper() in ("", pending_call.get("httpMethod", ""))
    return same_method and all(result.get(member) == pending_call.get(member) for member in members)


def _listed(arguments: Mapping[str, Any], types: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"name": name, "type": kind, "value": _text(arguments[name])}
        for name, kind in types.items()
        if arguments.get(name) is not None
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _body_text(bodies: Mapping[str, Any]) -> str:
    body: object = _object(next(iter(bodies.values()), None)).get("body", "")
    return _text(body)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> dict[str, str] | None:
    return None if value is None else {str(name): _text(item) for name, item in _object(value).items()}
