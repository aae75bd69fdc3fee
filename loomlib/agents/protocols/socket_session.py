"""A WebSocket to an agent, stored as one invocation with the time of every message."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import queue
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.aws.connection import Clients
from loomlib.aws.engine import Engine
from loomlib.errors import AwsError, PeerClosedError
from loomlib.json_values import to_text

from ..entry import AgentEntry
from ..invocation_writer import InvocationWriter
from ..outcome import failure_of
from ..payloads import make_payload
from ..requests import InvocationRequest
from ..trace_context import with_trace
from .measured_call import MeasuredCall
from .measuring import CallOutcome

if TYPE_CHECKING:
    from loomlib.aws.websocket import WebSocket
    from loomlib.aws.wire import WireBytes

_NORMAL = (1000, 1001, 1005)
"""Close codes of a connection that ended as intended (RFC 6455, section 7.4.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketMessage:
    """A received message.

    Attributes:
        data: A text, or bytes.
        at_ms: When it was read, in milliseconds after the handshake was sent.
        after_ms: How long after the last message that was sent; None before the first one.
    """

    data: str | bytes = field(repr=False)
    at_ms: float
    after_ms: float | None

    @property
    def text(self) -> str:
        """The message as text; bytes are decoded as UTF-8."""
        return to_text(self.data)

    def json(self) -> Any:
        """Return the JSON value of the message."""
        return json.loads(self.data)


class SocketSession:
    """One WebSocket. Coroutines run on the engine's loop; `inbox` is read anywhere.

    Args:
        engine: The engine.
        clients: The AWS clients of a connection.
        entry: The agent.
        writer: Stores the invocation.
        session_id: The runtime session.
        qualifier: The endpoint.
        labels: Labels to store with it.
        bearer: A token to send instead of a signature.
        on_message: Called on the engine's loop with each received message, and None at the end; by default they are
            put into the inbox.

    Attributes:
        inbox: Received messages; None at the end.
        outcome: The stored invocation; None while the WebSocket is open.
    """

    def __init__(
        self,
        engine: Engine,
        clients: Clients,
        *,
        entry: AgentEntry,
        writer: InvocationWriter,
        session_id: str,
        qualifier: str,
        labels: Sequence[str] = (),
        bearer: str | None = None,
        on_message: Callable[[SocketMessage | None], None] | None = None,
    ) -> None:
        self._bearer = bearer
        self._engine, self._clients, self.entry, self.session_id = engine, clients, entry, session_id
        self._qualifier = qualifier
        request = InvocationRequest(
            agent=entry,
            payload=make_payload("WebSocket"),
            session_id=session_id,
            qualifier=qualifier,
            labels=tuple(labels),
            headers=with_trace({}),
        )
        self._call = MeasuredCall(request, writer)
        self.inbox: queue.SimpleQueue[SocketMessage | None] = queue.SimpleQueue()
        self._deliver = on_message or self.inbox.put
        self.outcome: CallOutcome | None = None
        self._stack = contextlib.AsyncExitStack()
        self._socket: WebSocket | None = None
        self._reading: asyncio.Task[None] | None = None
        self._last_sent_ms: float | None = None
        self._texts: list[str] = []

    async def open(self) -> None:
        """Open the WebSocket.

        Raises:
            AwsError: It was refused; the refusal is stored, as is a cancellation.
        """
        from loomlib.aws.signing import sign_get
        from loomlib.aws.websocket import open_websocket

        call = self._call
        try:
            await call.begin()
            request = await asyncio.to_thread(
                sign_get,
                self._clients,
                "ws",
                arn=str(self.entry.arn),
                region=self.entry.region,
                qualifier=self._qualifier,
                session_id=self.session_id,
                headers=call.request.headers,
                bearer=self._bearer,
            )
            self._socket = socket = await self._stack.enter_async_context(
                open_websocket(self._engine, request, on=self.entry.name)
            )
        except AwsError as error:
            call.fail(failure_of(error), str(error))
            self.outcome = await self._finish()
            raise
        except asyncio.CancelledError:
            call.fail("cancelled", "The caller cancelled before the WebSocket was open")
            self.outcome = await self._finish()
            raise
        call.record_sent({"open": "WebSocket"}, socket.sent_ns, 0)
        call.line.headers = socket.headers
        call.received({"opened": 101}, socket.opened_ns, 0)
        self._reading = asyncio.create_task(self._read(socket))

    async def send(self, data: str | bytes) -> None:
        """Send a message.

        Raises:
            PeerClosedError: The WebSocket is closed.
        """
        if self._socket is None or self.outcome is not None:
            again = "agent.protocols.websocket() again"
            raise PeerClosedError("The WebSocket is closed", on=self.entry.name, try_=again)
        at_ns = await self._socket.send(data)
        self._last_sent_ms = self._call.line.offset_ms(at_ns)
        self._call.record_sent(_frame_document(data), at_ns, _size(data))

    def wire(self) -> WireBytes | None:
        """Return the bytes that the connection has carried, the handshake included; None when it is not open."""
        return None if self._socket is None else self._socket.wire()

    async def close(self) -> CallOutcome:
        """Close the WebSocket and return the stored invocation."""
        if self._socket is not None:
            await self._socket.close()
        if self._reading is not None:
            await self._reading
        await self._stack.aclose()
        assert self.outcome is not None
        return self.outcome

    async def _read(self, socket: WebSocket) -> None:
        call = self._call
        while (frame := await socket.receive()).data is not None:
            size = _size(frame.data)
            call.count(size, frame.at_ns)
            call.received(_frame_document(frame.data), frame.at_ns, size)
            if isinstance(frame.data, str):
                self._texts.append(frame.data)
            at_ms = call.line.offset_ms(frame.at_ns)
            after_ms = None if self._last_sent_ms is None else at_ms - self._last_sent_ms
            self._deliver(SocketMessage(data=frame.data, at_ms=at_ms, after_ms=after_ms))
        call.line.done_ns = frame.at_ns
        if frame.close_code is None:
            call.fail("transport", "The WebSocket broke before it was closed")
        elif frame.close_code not in _NORMAL:
            call.fail("agent_error", f"The agent closed the WebSocket with the code {frame.close_code}")
        self.outcome = await self._finish()
        self._deliver(None)

    async def _finish(self) -> CallOutcome:
        record = await self._call.finish("\n".join(self._texts))
        return CallOutcome(record=record, events=tuple(self._call.line.events))


def _frame_document(data: str | bytes) -> Mapping[str, Any]:
    return {"text": data} if isinstance(data, str) else {"base64": base64.b64encode(data).decode()}


def _size(data: str | bytes) -> int:
    return len(data.encode() if isinstance(data, str) else data)
