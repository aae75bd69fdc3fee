"""ASGI's types, AWS's form of errors, and functions to read requests and send answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from .error_forms import error_form

AsgiScope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


class RefusedError(Exception):
    """An AWS error to respond with.

    Args:
        code: Its code, such as `ValidationException`.
        status: The HTTP status.
        message: A sentence.
        members: Further members of the error, such as `reason`.
    """

    def __init__(self, code: str, status: int, message: str, **members: Any) -> None:
        super().__init__(message)
        self.code, self.status, self.message, self.members = code, status, message, members


class ChallengeError(RefusedError):
    """401: the caller must authenticate with a token of the issuer that the challenge names.

    Args:
        message: A sentence.
        challenge: The value of `WWW-Authenticate`.
        members: Further members, for the handlers of the error in this service.
    """

    def __init__(self, message: str, challenge: str, **members: Any) -> None:
        super().__init__("UnauthorizedException", 401, message, **members)
        self.challenge = challenge


class Encoded(bytes):
    """A result that is already encoded for the wire."""


class EncodedStream(bytes):
    """A result that is a complete event stream, with further response headers."""

    headers: Headers

    def __new__(cls, frames: bytes, headers: Headers = ()) -> EncodedStream:
        """Create it from encoded events."""
        stream = super().__new__(cls, frames)
        stream.headers = headers
        return stream


@dataclass(frozen=True, slots=True)
class LiveStream:
    """A result whose events are sent as they arrive, with further response headers."""

    frames: AsyncIterator[bytes]
    headers: Headers = ()


def invalid(message: str, reason: str = "FieldValidationFailed") -> RefusedError:
    """Return a ValidationException (400)."""
    return RefusedError("ValidationException", 400, message, reason=reason)


def not_found(message: str) -> RefusedError:
    """Return the error for a resource that does not exist (404)."""
    return RefusedError("ResourceNotFoundException", 404, message)


def conflict(message: str) -> RefusedError:
    """Return the error for a request that conflicts with the resource's current state (409)."""
    return RefusedError("ConflictException", 409, message)


def not_implemented(operation: str) -> RefusedError:
    """Return the error for an operation that is not implemented here (501, which botocore never retries)."""
    return RefusedError("NotImplementedException", 501, f"The local AgentCore does not implement {operation} yet")


async def send_json(send: Send, document: Mapping[str, Any], status: int = 200, headers: Headers = ()) -> None:
    """Send a JSON response.

    Args:
        send: ASGI's channel of the response.
        document: The JSON object.
        status: The HTTP status.
        headers: Header fields beside content type and content length.
    """
    await send_body(send, json.dumps(document).encode(), status, ((b"content-type", b"application/json"), *headers))


async def send_body(send: Send, body: bytes, status: int, headers: Headers) -> None:
    """Send a complete response.

    Args:
        send: ASGI's channel of the response.
        body: The whole body.
        status: The HTTP status.
        headers: Header fields beside the content length.
    """
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_frames(send: Send, frames: AsyncIterator[bytes], headers: Headers) -> None:
    """Send an event stream as its events arrive.

    Args:
        send: ASGI's channel of the response.
        frames: The encoded events; a refusal that comes before the first becomes an error with a status.
        headers: Header fields beside the content type.
    """
    first = await anext(aiter(frames))  # a refusal is raised here, while the status can still be an error
    content = (b"content-type", b"application/vnd.amazon.eventstream")
    await send({"type": "http.response.start", "status": 200, "headers": [content, *headers]})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for frame in frames:
        await send({"type": "http.response.body", "body": frame, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def send_refusal(send: Send, refused: RefusedError, request_id: str, *, protocol: str = "rest-json") -> None:
    """Send an AWS error in the form of a protocol (see `error_forms.protocol_of`).

    Args:
        send: ASGI's channel of the response.
        refused: The error, with its code, status and message.
        request_id: The id of the request.
        protocol: The protocol of the service, which decides the error's form.
    """
    headers, body = error_form(protocol, refused.code, refused.message, request_id, refused.members)
    if isinstance(refused, ChallengeError):
        # AgentCore's runtimes answer 401 as JSON-RPC, whatever their protocol is.
        headers.append(("www-authenticate", refused.challenge))
        body = json.dumps({"jsonrpc": "2.0", "error": {"code": -32001, "message": refused.message}}).encode()
    await send_body(send, body, refused.status, [(name.encode(), value.encode()) for name, value in headers])


async def read_body(receive: Receive, limit_bytes: int, declared: str | None = None) -> bytes:
    """Read a request's body, up to a size limit.

    Args:
        receive: Where the body comes from.
        limit_bytes: Largest body.
        declared: The Content-Length header.

    Raises:
        RefusedError: The body is larger.
        ConnectionAbortedError: The client disconnected.
    """
    too_large = invalid(f"The payload is larger than the maximum of {limit_bytes:,} bytes")
    if declared is not None and declared.isdecimal() and int(declared) > limit_bytes:
        raise too_large
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError("the client disconnected while sending")
        if part := message.get("body", b""):
            size += len(part)
            if size > limit_bytes:
                raise too_large
            parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def replayed(body: bytes) -> Receive:
    """Return a `receive` callable that yields a body that was already read."""

    async def receive() -> AsgiMessage:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncGenerator[None]:
    """Run the block; if the client disconnects, cancel it and raise `ConnectionAbortedError`."""
    working = asyncio.current_task()
    assert working is not None
    disconnected = False

    async def watch() -> None:
        nonlocal disconnected
        while (await receive())["type"] != "http.disconnect":
            pass
        disconnected = True
        working.cancel()

    watcher = asyncio.get_running_loop().create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not disconnected:
            raise
        working.uncancel()
        raise ConnectionAbortedError("the client disconnected") from None
    finally:
        watcher.cancel()
