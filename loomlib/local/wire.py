"""ASGI's few shapes, AWS's error form, and the way to send both."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class RefusedError(Exception):
    """An answer that is an AWS error: `code` such as "ValidationException", HTTP `status`, and a sentence."""

    def __init__(self, code: str, status: int, message: str, **members: Any) -> None:
        super().__init__(message)
        self.code, self.status, self.message, self.members = code, status, message, members


class Encoded(bytes):
    """A result that is in the operation's wire form already."""


def invalid(message: str, reason: str = "FieldValidationFailed") -> RefusedError:
    """400: the request breaks a rule."""
    return RefusedError("ValidationException", 400, message, reason=reason)


def not_found(message: str) -> RefusedError:
    return RefusedError("ResourceNotFoundException", 404, message)


def conflict(message: str) -> RefusedError:
    return RefusedError("ConflictException", 409, message)


def not_implemented(what: str) -> RefusedError:
    """501, which no retry mode of botocore repeats (500, 502, 503, 504 and 509 are)."""
    return RefusedError("NotImplementedException", 501, f"The local AgentCore does not implement {what} yet")


async def send_json(send: Send, document: Mapping[str, Any], status: int = 200, headers: Headers = ()) -> None:
    await send_body(send, json.dumps(document).encode(), status, ((b"content-type", b"application/json"), *headers))


async def send_body(send: Send, body: bytes, status: int, headers: Headers) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, refused: RefusedError, request_id: str) -> None:
    # REST services spell the member "message"; boto3 reads either case, other SDKs only their own.
    document = {"__type": refused.code, "message": refused.message, **refused.members}
    headers = ((b"x-amzn-errortype", refused.code.encode()), (b"x-amzn-requestid", request_id.encode()))
    await send_json(send, document, refused.status, headers)


async def read_body(receive: Receive, limit_bytes: int, declared: str | None = None) -> bytes:
    """The whole body, refused as soon as it is known to pass the limit and never held beyond it."""
    too_large = invalid(f"The payload is larger than the maximum of {limit_bytes:,} bytes")
    if declared is not None and declared.isdecimal() and int(declared) > limit_bytes:
        raise too_large
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client went away while sending")
        if part := message.get("body", b""):
            size += len(part)
            if size > limit_bytes:
                raise too_large
            parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def replayed(body: bytes) -> Receive:
    """A body that was read already, for the next reader."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
