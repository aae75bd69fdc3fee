"""The frame's channel: JSON-RPC 2.0 messages of a view, answered or refused (MCP Apps, SEP-1865, 2026-01-26).

A view may initialize (`ui/initialize`), report that it is ready and its height, ping, and call the tools of its own
server that the agent named. Everything else is refused with a JSON-RPC error: links, messages into the chat, resources,
sampling, other tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from loomlib.json_values import as_mapping
from loomlib.presentation.formats import number

from .views import AppView

PROTOCOL_VERSION: Final = "2026-01-26"
MESSAGE_MAX_CHARACTERS: Final = 1_000_000
ANSWER_MAX_CHARACTERS: Final = 2_000_000
"""The limit of a tool's result as JSON; in place of a longer one the page receives an error."""

_PARSE, _INVALID, _UNKNOWN, _BAD_PARAMS, _FAILED, _REFUSED = -32700, -32600, -32601, -32602, -32603, -32000

CallTool = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Calls a tool of the view's server; answers with `{"result": …}` or `{"error": {"code", "message"}}`."""


class FrameChannel:
    """One frame's channel: `receive` takes a message from the frame and returns the messages to post back.

    Args:
        view: The view in the frame.
        call_tool: Calls a tool of the view's server.
        theme: "light" or "dark".
        max_calls: How often the view may call tools.
        version: Loom's version.

    Attributes:
        calls_left: How often the view may still call tools.
        refused: What was refused, for the page to show.
        height_px: The height that the view reported; None before.
    """

    def __init__(
        self, view: AppView, call_tool: CallTool, *, theme: str = "light", max_calls: int = 100, version: str = "1"
    ) -> None:
        self.view, self._call_tool, self._version = view, call_tool, version
        self.theme = theme if theme in ("light", "dark") else "light"
        self.calls_left = max_calls
        self.refused: list[str] = []
        self.height_px: int | None = None
        self._is_initialized = False

    def receive(self, message: Any) -> list[dict[str, Any]]:
        """Handle a message from the frame (a JSON value or its text) and return the messages to post back."""
        if isinstance(message, (str, bytes)):
            if len(message) > MESSAGE_MAX_CHARACTERS:
                return [_error(None, _INVALID, "The message is too long")]
            try:
                message = json.loads(message)
            except (ValueError, RecursionError):
                return [_error(None, _PARSE, "Not JSON")]
        if not isinstance(message, dict):
            return [_error(None, _INVALID, "Not a JSON-RPC message")]
        request = cast("Mapping[str, Any]", message)
        method, id = request.get("method"), request.get("id")
        if "method" not in request and ("result" in request or "error" in request):
            return []  # a response to a request that was never sent
        if request.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return [_error(id, _INVALID, "Not a JSON-RPC 2.0 request")]
        params = request.get("params", {})
        if not isinstance(params, dict):
            return [_error(id, _BAD_PARAMS, "params must be an object")] if "id" in request else []
        values = cast("Mapping[str, Any]", params)
        if "id" not in request:
            return self._handle_notification(method, values)
        if not isinstance(id, (str, int)) or isinstance(id, bool):
            return [_error(None, _INVALID, "id must be a string or an integer")]
        return [self._handle_request(id, method, values)]

    def _handle_request(self, id: str | int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "ui/initialize":
            return {"jsonrpc": "2.0", "id": id, "result": self._initialize_result()}
        if method == "ping":
            return {"jsonrpc": "2.0", "id": id, "result": {}}
        if method == "tools/call":
            return self._call(id, params)
        self._note(method)
        return _error(id, _UNKNOWN, f"{_short(method)} is refused: this frame can only call its own tools")

    def _handle_notification(self, method: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        if method == "ui/notifications/initialized" and not self._is_initialized:
            self._is_initialized = True
            return [
                _notification("ui/notifications/tool-input", {"arguments": self._arguments()}),
                _notification("ui/notifications/tool-result", _bounded(self.view.result)),
            ]
        if method == "ui/notifications/size-changed":
            height = params.get("height")
            if isinstance(height, (int, float)) and not isinstance(height, bool) and 0 < height < 100_000:
                self.height_px = int(height)
        elif method not in ("ui/notifications/initialized", "notifications/message"):
            self._note(method)
        return []

    def _initialize_result(self) -> dict[str, Any]:
        view = self.view
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "hostInfo": {"name": "Loom", "version": self._version},
            "hostCapabilities": {"serverTools": {}},
            "hostContext": {
                "theme": self.theme,
                "displayMode": "inline",
                "availableDisplayModes": ["inline"],
                "toolInfo": {"id": view.tool_call_id, "tool": {"name": view.tool, "inputSchema": {"type": "object"}}},
            },
        }

    def _call(self, id: str | int, params: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return _error(id, _BAD_PARAMS, "tools/call requires a name and arguments")
        if name not in self.view.tools:
            self._note(f"tools/call {name}")
            return _error(id, _REFUSED, f"{_short(name)} is refused: it is not a tool of this view's server")
        if self.calls_left <= 0:
            self._note(f"tools/call {name}")
            return _error(id, _REFUSED, "This view has reached its limit of tool calls")
        self.calls_left -= 1
        try:
            answer = self._call_tool(name, cast("Mapping[str, Any]", arguments))
        except Exception as error:  # noqa: BLE001 -- whatever fails, the frame gets a response
            return _error(id, _FAILED, f"The call failed ({type(error).__name__})")
        if isinstance(answer.get("result"), Mapping):
            return {"jsonrpc": "2.0", "id": id, "result": _bounded(answer["result"])}
        error = as_mapping(answer.get("error"))
        return _error(id, int(error.get("code", _FAILED)), str(error.get("message", "The call failed")))

    def _arguments(self) -> dict[str, Any]:
        return dict(self.view.arguments) if _length(self.view.arguments) <= ANSWER_MAX_CHARACTERS else {}

    def _note(self, refusal: str) -> None:
        if len(self.refused) < 100:
            self.refused.append(_short(refusal))


def _bounded(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's result; a result that is too long is replaced by an error result that says so."""
    if (length := _length(result)) <= ANSWER_MAX_CHARACTERS:
        return dict(result)
    most = number(ANSWER_MAX_CHARACTERS)
    text = f"The result has {number(length)} characters; a view can receive {most} at most."
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def _length(value: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(value)))


def _error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def _notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
