"""A tool's view in an agent's stream.

MCP has the view as a resource of the server (`ui://…`), which the tool names in its `_meta.ui.resourceUri`. The server
is behind the agent, so the agent reads the resource and sends it on as one event of its stream:

    {"mcp_app": {"resourceUri": "ui://dice/view.html", "mimeType": "text/html;profile=mcp-app", "html": "…",
                 "tool": "roll_dice", "toolCallId": "…", "arguments": {…}, "result": {"content": […], …},
                 "tools": ["roll_dice", …]}}

`tools` are the tools of the same server that the view may call. Such a call goes to the agent as the payload
`{"mcp": {"method": "tools/call", "params": {"name": …, "arguments": {…}}}}`, in the view's session, and is answered by
`{"mcp": {"result": {…}}}` or `{"mcp": {"error": {"code": …, "message": …}}}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.json_values import as_mapping, as_text
from loomlib.presentation.formats import number

MIME_TYPE: Final = "text/html;profile=mcp-app"
EVENT: Final = "mcp_app"
HTML_MAX_CHARACTERS: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AppView:
    """The HTML page of a tool's view. It is untrusted and must be shown in a sandbox (see `frame_document`).

    Attributes:
        resource_uri: The URI of the MCP resource.
        html: The page.
        tool: The tool that the view belongs to.
        tool_call_id: The tool call.
        arguments: The arguments of the call.
        result: The tool's result (MCP's CallToolResult).
        tools: The tools that the view may call.
        title: The title.
        problem: Why there is no page; "" when there is one.
    """

    resource_uri: str
    html: str = field(repr=False)
    tool: str
    tool_call_id: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    result: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tools: tuple[str, ...] = ()
    title: str = ""
    problem: str = ""


def is_view(value: object) -> bool:
    """Return whether a JSON value is an event with a view."""
    return isinstance(value, dict) and isinstance(cast("dict[str, object]", value).get(EVENT), dict)


def read_view(data: bytes | str | Mapping[str, Any]) -> AppView | None:
    """Return the view in an event (`Chunk.data`), None when it has none; never raises."""
    value: object = data
    if isinstance(data, (bytes, str)):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None
    if not is_view(value):
        return None
    document = cast("Mapping[str, Any]", cast("Mapping[str, Any]", value)[EVENT])
    html, tools = document.get("html"), document.get("tools")
    return AppView(
        resource_uri=as_text(document.get("resourceUri")),
        html=html if isinstance(html, str) else "",
        tool=as_text(document.get("tool")),
        tool_call_id=as_text(document.get("toolCallId")),
        arguments=as_mapping(document.get("arguments")),
        result=as_mapping(document.get("result")),
        tools=tuple(tool for tool in cast("list[Any]", tools) if isinstance(tool, str))
        if isinstance(tools, list)
        else (),
        title=as_text(document.get("title")),
        problem=_problem(document),
    )


def tool_call_payload(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload with which a view's tool call is sent to the agent.

    Args:
        name: The tool.
        arguments: The arguments.
    """
    return {"mcp": {"method": "tools/call", "params": {"name": name, "arguments": dict(arguments)}}}


def tool_result_of(answer: str | bytes) -> Mapping[str, Any]:
    """Return the JSON-RPC part of the agent's response: with `result`, or with `error`."""
    try:
        value: object = json.loads(answer)
    except (ValueError, RecursionError):
        value = None
    mcp_result = as_mapping(as_mapping(value).get("mcp"))
    if isinstance(mcp_result.get("result"), dict):
        return {"result": mcp_result["result"]}
    error = as_mapping(mcp_result.get("error"))
    code = error.get("code")
    return {
        "error": {
            "code": code if isinstance(code, int) else -32603,
            "message": as_text(error.get("message")) or "The agent's response is not in the form of MCP Apps",
        }
    }


def _problem(document: Mapping[str, Any]) -> str:
    uri, html = document.get("resourceUri"), document.get("html")
    if not isinstance(uri, str) or not uri.startswith("ui://"):
        return "The view has no ui:// URI."
    if not isinstance(html, str) or not html.strip():
        return f"The view {uri} has no HTML."
    if len(html) > HTML_MAX_CHARACTERS:
        return f"The view {uri} is longer than {number(HTML_MAX_CHARACTERS)} characters."
    mime = as_text(document.get("mimeType")).replace(" ", "").lower()
    if mime != MIME_TYPE:
        return f"The view {uri} has the MIME type {mime or '(none)'}, not {MIME_TYPE}."
    return ""
