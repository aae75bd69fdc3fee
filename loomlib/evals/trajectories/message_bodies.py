"""Tool calls in the messages of strands (Bedrock), ADK, OpenAI and Anthropic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from ..values.tool_use import ToolUse

BodyNode: TypeAlias = "Mapping[str, Any]"

_CALL_LISTS: Final = frozenset(
    {"tool_uses", "toolUses", "tool_responses", "toolResponses", "trajectory", "tool_calls", "toolCalls"}
)
"""Lists that hold only calls and results, so that a bare name with arguments is a call."""

_HOLDERS: Final = _CALL_LISTS | {
    *("messages", "message", "content", "contents", "parts", "events", "output", "choices", "history", "turns"),
    *("response", "result", "intermediate_data", "intermediateData", "invocation_events", "invocationEvents"),
}
"""Keys that contain messages. Others are not searched, so a tool's arguments are never read as a call."""

_MAX_NODES: Final = 200_000


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: BodyNode | None
    result: Any = None
    status: str = ""
    is_answered: bool = False


@dataclass(slots=True)
class _Result:
    id: str
    name: str
    value: Any
    status: str


def tools_of_body(body: object) -> tuple[ToolUse, ...] | None:
    """Return the calls in order, each with its result; None when there are no messages."""
    calls: list[_Call] = []
    results: list[_Result] = []
    seen_ids: set[str] = set()
    has_messages = False
    for node in _walk(body):
        if node is None:
            has_messages = True
        elif isinstance(node, _Result):
            results.append(node)
        elif not node.id or node.id not in seen_ids:
            seen_ids.add(node.id)
            calls.append(node)
    if not calls and not has_messages:
        return None
    _answer(calls, results)
    return tuple(ToolUse(name=c.name, arguments=c.arguments, result=c.result, status=c.status) for c in calls)


def _answer(calls: Sequence[_Call], results: Sequence[_Result]) -> None:
    """Assign results to calls: by id, else by the tool's name in order (ADK does not always set ids)."""
    by_id = {call.id: call for call in calls if call.id}
    by_name: dict[str, list[_Call]] = {}
    for call in reversed(calls):
        by_name.setdefault(call.name, []).append(call)
    for result in results:
        call = by_id.get(result.id)
        waiting = by_name.get(result.name, [])
        while call is None and waiting:
            first = waiting.pop()
            call = None if first.is_answered else first
        if call is not None and not call.is_answered:
            call.result, call.status, call.is_answered = result.value, result.status, True


def _walk(body: object) -> Iterator[_Call | _Result | None]:
    """Yield calls and results in the order of the text, None for a message. Does not recurse; ends on any input."""
    waiting: list[tuple[bool, object]] = [(False, body)]
    remaining_nodes = _MAX_NODES
    while waiting and remaining_nodes:
        remaining_nodes -= 1
        is_listed, value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting.extend((is_listed, item) for item in reversed(cast("Sequence[object]", value)))
        node = _node(cast("object", value))
        if node is None:
            continue
        if "role" in node or "parts" in node or "author" in node or not _CALL_LISTS.isdisjoint(node):
            yield None
        result = _result(node)
        call = None if result is not None else _call(node, is_listed)
        if result is not None or call is not None:
            yield result or call
            if "role" not in node or result is not None:
                continue
        waiting.extend((key in _CALL_LISTS, node[key]) for key in reversed(tuple(node)) if key in _HOLDERS)


def _call(node: BodyNode, is_listed: bool) -> _Call | None:
    inner = _inner(node, "toolUse", "function_call", "functionCall")
    if inner is None and node.get("type") in ("tool_use", "function_call", "tool_call"):
        inner = node
    if inner is None and (function := _node(node.get("function"))) is not None:
        call_node: dict[str, Any] = {**function, "id": node.get("id")}
        inner = call_node
    if inner is None and is_listed:
        inner = node
    name = "" if inner is None else _text(inner, "name", "tool_name", "toolName")
    if inner is None or not name:
        return None
    arguments: object = next((inner[key] for key in ("args", "arguments", "input", "tool_input") if key in inner), "")
    return _Call(_text(inner, "toolUseId", "call_id", "tool_call_id", "id"), name, mapping_in(arguments))


def _result(node: BodyNode) -> _Result | None:
    inner = _inner(node, "toolResult", "function_response", "functionResponse")
    is_one = node.get("type") in ("tool_result", "function_call_output") or node.get("role") == "tool"
    if inner is None and (is_one or ("name" in node and "response" in node)):
        inner = node
    if inner is None:
        return None
    value = next((inner[key] for key in ("response", "content", "output", "result") if key in inner), None)
    stated = inner.get("status")
    failed = inner.get("is_error") is True or stated == "error"
    return _Result(
        _text(inner, "toolUseId", "tool_use_id", "tool_call_id", "call_id", "id"),
        _text(inner, "name"),
        _content(value),
        "error" if failed else "success" if stated == "success" else "",
    )


def _content(value: object) -> Any:
    """Return the content of blocks that hold only text, or one JSON value."""
    blocks = [_node(block) for block in cast("list[object]", value)] if isinstance(value, list) else []
    if len(blocks) == 1 and blocks[0] is not None and "json" in blocks[0]:
        return blocks[0]["json"]
    texts = [None if block is None else block.get("text") for block in blocks]
    if texts and all(isinstance(text, str) for text in texts):
        return "\n".join(str(text) for text in texts)
    return cast("Any", value)


def _node(value: object) -> BodyNode | None:
    return cast("BodyNode", value) if isinstance(value, Mapping) else None


def _inner(node: BodyNode, *keys: str) -> BodyNode | None:
    return next((inner for key in keys if (inner := _node(node.get(key))) is not None), None)


def _text(node: BodyNode, *keys: str) -> str:
    return next((str(node[key]) for key in keys if isinstance(node.get(key), str)), "")


def mapping_in(value: object) -> BodyNode | None:
    """Return a mapping, also from JSON text (OpenAI's arguments); None for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return None
    return _node(value)
