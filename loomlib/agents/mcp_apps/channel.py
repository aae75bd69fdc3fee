"""The frame's channel: JSON-RPC 2.0 messages of a view, answered or refused (MCP Apps, SEP-1865, 2026-01-26).

A view may greet (`ui/initialize`), say that it is ready and how tall it is, ping, and call the tools of its own server
that the agent named. Everything else is refused with a JSON-RPC error: links, messages into the chat, resources,
sampling, other tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .views import AppView

PROTOCOL_VERSION: Final = "2026-01-26"
MESSAGE_MAX_CHARACTERS: Final = 1_000_000
ANSWER_MAX_CHARACTERS: Final = 2_000_000
"""Of a tool's answer, as JSON: a longer one never goes to a page, which is told so in its place."""

_PARSE, _INVALID, _UNKNOWN, _BAD_PARAMS, _FAILED, _REFUSED = -32700, -32600, -32601, -32602, -32603, -32000

CallTool = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Calls a tool of the view's server; answers with `{"result": …}` or `{"error": {"code", "message"}}`."""


class FrameChannel:
    """One frame's side of the conversation. `receive` takes what the frame posted, and gives what is to be posted back.

    `calls_left` bounds how often a view may call tools; `refused` lists what was refused, for the page to show.
    """

    def __init__(
        self, view: AppView, call_tool: CallTool, *, theme: str = "light", max_calls: int = 100, version: str = "1"
    ) -> None:
        self.view, self._call_tool, self._version = view, call_tool, version
        self.theme = theme if theme in ("light", "dark") else "light"
        self.calls_left = max_calls
        self.refused: list[str] = []
        self.height_px: int | None = None
        self._is_told = False

    def receive(self, message: Any) -> list[dict[str, Any]]:
        """The messages to post into the frame in answer to one of its own (a JSON value, or its text)."""
        if isinstance(message, (str, bytes)):
            if len(message) > MESSAGE_MAX_CHARACTERS:
                return [_error(None, _INVALID, "The message is too long")]
            try:
                message = json.loads(message)
            except (ValueError, RecursionError):
                return [_error(None, _PARSE, "This is no JSON")]
        if not isinstance(message, dict):
            return [_error(None, _INVALID, "This is no JSON-RPC message")]
        found = cast("Mapping[str, Any]", message)
        method, id = found.get("method"), found.get("id")
        if "method" not in found and ("result" in found or "error" in found):
            return []  # an answer to nothing that was asked
        if found.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return [_error(id, _INVALID, "This is no JSON-RPC 2.0 request")]
        params = found.get("params", {})
        if not isinstance(params, dict):
            return [_error(id, _BAD_PARAMS, "params is an object")] if "id" in found else []
        told = cast("Mapping[str, Any]", params)
        if "id" not in found:
            return self._notified(method, told)
        if not isinstance(id, (str, int)) or isinstance(id, bool):
            return [_error(None, _INVALID, "An id is a text or a whole number")]
        return [self._asked(id, method, told)]

    def _asked(self, id: str | int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "ui/initialize":
            return {"jsonrpc": "2.0", "id": id, "result": self._greeting()}
        if method == "ping":
            return {"jsonrpc": "2.0", "id": id, "result": {}}
        if method == "tools/call":
            return self._call(id, params)
        self._note(method)
        return _error(id, _UNKNOWN, f"{_short(method)} is refused: this frame can only call its own tools")

    def _notified(self, method: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        if method == "ui/notifications/initialized" and not self._is_told:
            self._is_told = True
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

    def _greeting(self) -> dict[str, Any]:
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
            return _error(id, _BAD_PARAMS, "tools/call takes a name and arguments")
        if name not in self.view.tools:
            self._note(f"tools/call {name}")
            return _error(id, _REFUSED, f"{_short(name)} is refused: it is no tool of this view's server")
        if self.calls_left <= 0:
            self._note(f"tools/call {name}")
            return _error(id, _REFUSED, "This view has called its tools often enough")
        self.calls_left -= 1
        try:
            answer = self._call_tool(name, cast("Mapping[str, Any]", arguments))
        except Exception as error:  # noqa: BLE001 -- whatever fails behind it, the frame gets an answer
            return _error(id, _FAILED, f"The call failed ({type(error).__name__})")
        if isinstance(answer.get("result"), Mapping):
            return {"jsonrpc": "2.0", "id": id, "result": _bounded(answer["result"])}
        told = cast("Mapping[str, Any]", answer.get("error") or {})
        return _error(id, int(told.get("code", _FAILED)), str(told.get("message", "The call failed")))

    def _arguments(self) -> dict[str, Any]:
        return dict(self.view.arguments) if _length(self.view.arguments) <= ANSWER_MAX_CHARACTERS else {}

    def _note(self, what: str) -> None:
        if len(self.refused) < 100:
            self.refused.append(_short(what))


def _bounded(result: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's result; in place of one that is too long, a result of the same kind that says so."""
    if (length := _length(result)) <= ANSWER_MAX_CHARACTERS:
        return dict(result)
    said = f"The answer has {length:,} characters, and a view is given {ANSWER_MAX_CHARACTERS:,} at most."
    return {"isError": True, "content": [{"type": "text", "text": said}]}


def _length(value: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(value)))


def _error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def _notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"
