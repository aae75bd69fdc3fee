"""JSON-RPC over HTTP: each message is a POST, whose response carries JSON or server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from loomlib.aws.addresses import is_loopback
from loomlib.aws.engine import Engine, shared_engine
from loomlib.errors import LoomError, MalformedResponseError, TransportError
from loomlib.json_values import as_list, mapping_or_none
from loomlib.presentation.formats import size

from ..interruptions import Explain
from ..outcome import read_refusal, refusal
from ..sse import SseParser
from ..timeline import Timeline
from ..trace_context import with_trace
from .channels import OnClosed, OnMessage
from .measured_call import MeasuredCall

if TYPE_CHECKING:
    from loomlib.aws.signing import SignedRequest
    from loomlib.aws.transport import HttpResponse

_SESSION: Final = "mcp-session-id"
_OBJECT_LIMIT: Final = 4_000_000

MakeRequest = Callable[[str, bytes, Mapping[str, str]], "SignedRequest"]
"""Makes the request of a method, a body and headers, signed where that is needed; called in a worker thread."""


class HttpChannel:
    """JSON-RPC over HTTP.

    Args:
        engine: The engine whose loop sends.
        make_request: Makes a request.
        name: The server's name in errors.
        what: The operation's name in errors.
        read_timeout_s: The limit for each wait for the next bytes, in seconds.
        explain: Finds out why a response of the local AgentCore broke off; None for other servers.
        has_stream: Whether the server supports GET, for messages that do not belong to a request, and DELETE, to end a
            session; InvokeAgentRuntime supports neither.

    Attributes:
        headers: Headers of every request from now on.
        answers_in_send: True.
    """

    answers_in_send = True

    def __init__(
        self,
        engine: Engine,
        make_request: MakeRequest,
        *,
        name: str,
        what: str = "POST",
        read_timeout_s: float = 900.0,
        explain: Explain | None = None,
        has_stream: bool = False,
    ) -> None:
        self._engine, self._make, self._name, self._operation = engine, make_request, name, what
        self._read_timeout_s, self._has_stream, self._explain = read_timeout_s, has_stream, explain
        self.headers: dict[str, str] = {}
        self._on_message: OnMessage = _drop
        self._listening: asyncio.Task[None] | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Store the callbacks; HTTP connects with the first request."""
        del on_closed  # every request fails on its own
        self._on_message = on_message

    async def send(self, message: Mapping[str, Any], call: MeasuredCall | None) -> None:
        """POST a message and deliver every message of the response."""
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        headers = {**(call.request.headers if call else with_trace({})), **self.headers}
        request = await asyncio.to_thread(self._make, "POST", body, headers)

        def on_send(at_ns: int) -> None:
            if call is not None:
                call.record_sent(message, at_ns, len(body))

        # A response to a request of the server also has an id, but it is the server's.
        await self._exchange(request, call, on_send, id=message.get("id") if "method" in message else None)

    def listen(self) -> None:
        """Open the GET stream, on which a server sends messages that do not belong to a request."""
        if self._has_stream and self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def close(self) -> None:
        """Close the GET stream and end the session on the server."""
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening
            self._listening = None
        if self._has_stream and _SESSION in self.headers:
            # A server without DELETE answers 405; one that is gone has ended the session already.
            with contextlib.suppress(LoomError):
                await self._exchange(await asyncio.to_thread(self._make, "DELETE", b"", self.headers), None, _ignore)
            self.headers.pop(_SESSION, None)

    async def _listen(self) -> None:
        # Without the stream (405), and when it breaks, requests still carry their own messages.
        with contextlib.suppress(LoomError):
            headers = {**self.headers, "Accept": "text/event-stream"}
            await self._exchange(await asyncio.to_thread(self._make, "GET", b"", headers), None, _ignore)

    async def _exchange(
        self, request: SignedRequest, call: MeasuredCall | None, on_send: Callable[[int], None], *, id: object = None
    ) -> None:
        from loomlib.aws.transport import stream_invocation

        began_s, has_begun = time.time(), False
        try:
            async with stream_invocation(
                self._engine, request, read_timeout_s=self._read_timeout_s, on_send=on_send
            ) as answer:
                if call is not None:
                    call.head(answer)
                if answer.status >= 300:
                    await self._refused(answer, call, id)
                    return
                has_begun = True
                if session := answer.headers.get(_SESSION):
                    self.headers[_SESSION] = session
                await self._read(answer, call)
                if call is not None:
                    call.line.carried(answer.wire())
        except TransportError as error:
            if self._explain is None or not has_begun or not is_loopback(request.endpoint):
                raise
            if call is not None:
                call.broke_off(time.perf_counter_ns())
            raise await asyncio.to_thread(self._explain, error, began_s) from error

    async def _read(self, answer: HttpResponse, call: MeasuredCall | None) -> None:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        parser = SseParser() if kind == "text/event-stream" else None
        body = bytearray()
        last_ns = answer.head_ns
        async for arrival in answer.arrivals():
            last_ns = arrival.at_ns
            if call is not None:
                call.count(len(arrival.data), last_ns)
            if parser is None:
                body += arrival.data
                continue
            for event in parser.feed(arrival.data):
                self._deliver(event.data, last_ns, call)
        if parser is not None:
            for event in parser.finish():
                self._deliver(event.data, last_ns, call)
        elif body.strip():
            self._deliver(body.decode("utf-8", "replace"), last_ns, call)

    def _deliver(self, text: str, at_ns: int, call: MeasuredCall | None) -> None:
        if not text.strip():
            return  # MCP 2025-11-25: a stream may begin with an event without data, for its id
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            raise MalformedResponseError(
                "The response is not JSON-RPC", on=f"{self._name}: {text[:200]!r}", try_="agent.protocol"
            ) from None
        for one in as_list(value) or (value,):
            if (message := mapping_or_none(one)) is not None:
                self._on_message(message, at_ns, len(text.encode()), call)

    async def _refused(self, answer: HttpResponse, call: MeasuredCall | None, id: object) -> None:
        line = call.line if call is not None else Timeline.begin()
        body = await read_refusal(answer, line)
        with contextlib.suppress(ValueError, RecursionError):
            message = mapping_or_none(json.loads(body))
            if message is not None and "jsonrpc" in message and "error" in message:
                # A JSON-RPC error beside an HTTP status is the more exact of the two. It concerns this request,
                # whatever its id: a server that refuses a request without reading it uses an id of its own.
                if id is not None:
                    message = {**message, "id": id}
                self._on_message(message, line.first_byte_ns or time.perf_counter_ns(), len(body), call)
                return
        raise refusal(answer, body, what=self._operation, on=self._name)


async def read_json(request: SignedRequest, *, what: str, on: str) -> Mapping[str, Any]:
    """Return the JSON object that a GET reads; runs on the engine's loop.

    Args:
        request: The signed request.
        what: The operation, for errors.
        on: What it is done on, for errors.

    Raises:
        MalformedResponseError: It is not a JSON object, or is longer than 4 MB.
        AwsError: It cannot be read.
    """
    from loomlib.aws.transport import stream_invocation

    body = bytearray()
    async with stream_invocation(shared_engine(), request, read_timeout_s=60.0) as answer:
        if answer.status >= 300:
            raise refusal(answer, await read_refusal(answer, Timeline.begin()), what=what, on=on)
        async for arrival in answer.arrivals():
            body += arrival.data
            if len(body) > _OBJECT_LIMIT:
                raise MalformedResponseError(
                    f"{what}: the response is longer than {size(_OBJECT_LIMIT)}", on=on, try_="a shorter response"
                )
    try:
        value = mapping_or_none(json.loads(body))
    except (ValueError, RecursionError):
        value = None
    if value is None:
        raise MalformedResponseError(
            f"{what}: the response is not a JSON object", on=f"{on}: {bytes(body[:200])!r}", try_="the agent's log"
        )
    return value


def _ignore(_at_ns: int) -> None:
    """Do nothing: the request belongs to no call."""


def _drop(message: Mapping[str, Any], at_ns: int, size: int, call: MeasuredCall | None) -> None:
    """Drop a message that arrives before the channel is open."""
