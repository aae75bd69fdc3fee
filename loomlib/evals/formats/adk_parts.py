"""ADK's contents (google.genai's `Content`, `FunctionCall`, `FunctionResponse`) as texts and expected tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ..values.tool_use import ExpectedTool
from .fields import Fields
from .problems import Path, Problems


def both(name: str) -> tuple[str, str]:
    """Return both spellings of a field: `tool_uses` and `toolUses`."""
    first, *others = name.split("_")
    return name, first + "".join(word.capitalize() for word in others)


def parts_of(content: object, path: Path, problems: Problems) -> list[Mapping[str, Any]]:
    """Return the parts of a content; none when there is no content.

    Args:
        content: A `Content` of ADK as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    if content is None:
        return []
    fields = Fields(content, path, problems, what="a content")
    parts: list[Mapping[str, Any]] = []
    for value, at in fields.items("parts"):
        part = Fields(value, at, problems, what="a part")
        parts.append(part.values)
    return parts


def text_of(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of parts without thoughts, one line per part (as ADK joins them)."""
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))


@dataclass(frozen=True, slots=True)
class Named:
    """A function call or response: its id, tool name, and arguments or result."""

    id: str
    name: str
    content: Any
    result: Any = None


def read_call(value: object, path: Path, problems: Problems) -> Named:
    """Read a `FunctionCall`, a `FunctionResponse`, or the old form of a call (`tool_name`, `tool_input`).

    Args:
        value: The call or response as JSON.
        path: Position of the value in the document, for messages.
        problems: Collects the problems; nothing is raised.
    """
    fields = Fields(value, path, problems, what="a call")
    name = fields.text("name", "tool_name", required=True)
    if name is not None and not name.strip():
        fields.wrong("name", "it is empty", "give the tool's name")
    arguments = fields.mapping("args", "tool_input", "response")
    return Named(
        id=fields.text("id") or "",
        name=name if name and name.strip() else "?",
        content=arguments,
        result=fields.free("mock_tool_output"),
    )


def tools_of_parts(parts: Sequence[Mapping[str, Any]], problems: Problems, path: Path) -> tuple[ExpectedTool, ...]:
    """Return the calls among the parts of events, each with its response.

    Args:
        parts: The parts as JSON; a response belongs to the call of its id.
        problems: Collects the problems; nothing is raised.
        path: Position of the value in the document, for messages.
    """
    calls, responses = (
        [
            read_call(value, path, problems)
            for part in parts
            if (value := next((part[key] for key in both(kind) if part.get(key) is not None), None)) is not None
        ]
        for kind in ("function_call", "function_response")
    )
    return with_results(calls, responses)


def with_results(calls: Sequence[Named], responses: Sequence[Named]) -> tuple[ExpectedTool, ...]:
    """Return expected tools. A response belongs to the call with its id, else to the tool's next call without one."""
    waiting = list(responses)
    tools: list[ExpectedTool] = []
    for call in calls:
        tool = ExpectedTool(name=call.name, arguments=call.content, result=call.result)
        mine = next(
            (
                response
                for response in waiting
                if (response.id == call.id if response.id and call.id else response.name == call.name)
            ),
            None,
        )
        if mine is not None:
            waiting.remove(mine)
            tool = replace(tool, result=unwrapped(mine.content))
        tools.append(tool)
    return tuple(tools)


def wrapped(result: Any) -> dict[str, Any]:
    """Return a result as a response object; other values are stored under `result` (as ADK does)."""
    if isinstance(result, Mapping):
        values = dict(cast("Mapping[str, Any]", result))
        if values.keys() != {"result"}:
            return values
    return {"result": result}


def unwrapped(response: Any) -> Any:
    """Return the result of a response."""
    if isinstance(response, Mapping):
        values = cast("Mapping[str, Any]", response)
        return values["result"] if list(values) == ["result"] else values
    return response
