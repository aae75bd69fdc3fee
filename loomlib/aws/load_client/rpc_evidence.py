"""The outcome of a call from its JSON-RPC response with the status 200: answered, failed, or without an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

_KEPT_BYTES: Final = 262_144
"""Largest stored part of a response: its end, since the answer is the last message of an event stream."""
_FAILED_STATES: Final = ("failed", "rejected")
_MESSAGE_CHARACTERS: Final = 1_000


class RpcEvidence:
    """Collects a response of JSON-RPC, as JSON or as server-sent events, and determines the outcome at its end.

    A call has failed if the response is a protocol error, a tool result with `isError` (MCP), or a task that failed or
    was rejected (A2A).

    Args:
        headers: The response's headers, by their names in lower case.
    """

    __slots__ = ("_body", "_is_stream")

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._is_stream = headers.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream"
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        """Store bytes of the body."""
        self._body += data
        if self._is_stream and len(self._body) > 2 * _KEPT_BYTES:
            del self._body[:-_KEPT_BYTES]

    def outcome(self) -> tuple[str, bool]:
        """Return the failure as JSON, "" for none, and whether the response lacks an answer."""
        has_answer = False
        for message in self._messages():
            if "error" in message:
                error = _mapping(message["error"])
                code = error.get("code")
                reason = _mapping(error.get("data")).get("reason")
                text = ": ".join(str(one) for one in (error.get("message"), reason) if one)
                return _failure(text or "an error without a message", code if isinstance(code, int) else -32603), False
            if "result" in message:
                has_answer = True
                result = _mapping(message["result"])
                if result.get("isError") is True:
                    return _failure(_text(result.get("content")) or "the tool failed", None), False
                status = _mapping(result.get("status"))
                if (state := status.get("state")) in _FAILED_STATES:
                    words = "was rejected" if state == "rejected" else state
                    detail = _text(_mapping(status.get("message")).get("parts"))
                    return _failure(f"the task {words}{': ' if detail else ''}{detail}", None), False
        return "", not has_answer

    def _messages(self) -> Iterator[Mapping[str, Any]]:
        for text in self._texts():
            try:
                value: object = json.loads(text)
            except (ValueError, RecursionError):
                continue
            for one in cast("list[object]", value) if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    yield cast("dict[str, Any]", one)

    def _texts(self) -> Iterator[bytes]:
        body = bytes(self._body)
        if not self._is_stream:
            yield body
            return
        for event in body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
            lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                yield b"\n".join(lines)


def _failure(message: str, code: int | None) -> str:
    return json.dumps({"jsonrpc": code, "error": message[:_MESSAGE_CHARACTERS]})


def _text(parts: object) -> str:
    """Return the texts of a list of parts, as MCP and A2A write them."""
    if not isinstance(parts, list):
        return ""
    texts = [_mapping(part).get("text") for part in cast("list[object]", parts)]
    return " ".join(text for text in texts if isinstance(text, str))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
