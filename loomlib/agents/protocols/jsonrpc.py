"""A JSON-RPC 2.0 peer: requests with their responses, and what the other side asks and reports meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from loomlib.errors import LoomError, MalformedResponseError, ProtocolError
from loomlib.json_values import as_mapping, as_text, number_or_none

from .channels import Channel
from .measured_call import MeasuredCall

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

_FAILURE_OF: Final[Mapping[int | None, str]] = {
    None: "transport",
    -32700: "rejected",
    -32600: "rejected",
    METHOD_NOT_FOUND: "rejected",
    INVALID_PARAMS: "rejected",
    # AgentCore's own codes, from the developer guide's protocol contracts: MCP -3200x, A2A -3205x.
    -32001: "rejected",
    -32002: "rejected",
    -32003: "throttle",
    -32004: "rejected",
    -32005: "rejected",
    -32006: "rejected",
    -32051: "rejected",
    -32052: "rejected",
    -32053: "throttle",
    -32054: "rejected",
}

_REST_S: Final = 0.5
"""How long the rest of a response may take after its last message before Loom no longer waits for it."""

OnRequest = Callable[[str, Mapping[str, Any], MeasuredCall | None], Awaitable[Mapping[str, Any]]]
"""Answers a request of the other side; a `ProtocolError` with a code becomes a JSON-RPC error."""

OnNotification = Callable[[str, Mapping[str, Any], MeasuredCall | None], None]


def failure_of_code(code: int | None) -> str:
    """Return the class of `loomlib.agents.FAILURES` of a JSON-RPC error code; None stands for a broken connection."""
    return _FAILURE_OF.get(code, "agent_error")


@dataclass(slots=True)
class _Pending:
    future: asyncio.Future[Any]
    call: MeasuredCall | None
    on_result: Callable[[Mapping[str, Any]], bool] | None = None
    last: Any = None
    has_any: bool = False


class JsonRpcPeer:
    """One side of a JSON-RPC connection. For the engine's loop only.

    Args:
        channel: Carries the messages.
        name: The server's name in errors.
        on_request: Answers requests of the other side.
        on_notification: Called with notifications.
    """

    def __init__(self, channel: Channel, *, name: str, on_request: OnRequest, on_notification: OnNotification) -> None:
        self.channel, self._name = channel, name
        self._on_request, self._on_notification = on_request, on_notification
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._closed: LoomError | None = None

    async def open(self) -> None:
        """Connect."""
        await self.channel.open(self._receive, self._close_all)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        call: MeasuredCall | None = None,
        on_sent: Callable[[int], None] | None = None,
        on_result: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> Any:
        """Send a request and return its result.

        Args:
            method: The method.
            params: Its parameters.
            call: The call that the messages belong to.
            on_sent: Called with the request's id before it is sent.
            on_result: Called with every result of a stream of responses, as in A2A; the first for which it is True
                ends the request, as does the end of the response.

        Raises:
            ProtocolError: The other side answered with an error; `code` is its code.
            LoomError: The connection failed.
        """
        if self._closed is not None:
            raise self._closed
        id = next(self._numbers)
        pending = _Pending(asyncio.get_running_loop().create_future(), call, on_result)
        self._pending[id] = pending
        if on_sent is not None:
            on_sent(id)
        message = {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": dict(params)})}
        sending = asyncio.create_task(self.channel.send(message, call))
        try:
            return await self._response(pending, sending, method)
        finally:
            self._pending.pop(id, None)
            if not sending.done():
                if not pending.future.done():
                    # Nobody waits for the answer: nothing more is sent, and an HTTP connection is closed.
                    sending.cancel()
                self._leave(sending)

    async def _response(self, pending: _Pending, sending: asyncio.Task[None], method: str) -> Any:
        future = pending.future
        await asyncio.wait({future, sending}, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            sending.result()  # raises what prevented the request or the response
            if pending.has_any:
                return pending.last
            if self.channel.answers_in_send:
                raise MalformedResponseError(
                    f"The response to {method} ended without an answer", on=self._name, try_="the agent's logs"
                )
            await future
        elif self.channel.answers_in_send and not sending.done():
            await asyncio.wait({sending}, timeout=_REST_S)  # a connection that is read to its end is used again
        error = sending.exception() if sending.done() and not sending.cancelled() else None
        if error is not None and not isinstance(error, LoomError):
            raise error
        return future.result()

    async def notify(self, method: str, params: Mapping[str, Any], call: MeasuredCall | None = None) -> None:
        """Send a notification; one that cannot be sent is dropped, as JSON-RPC allows.

        Args:
            method: The notification's method.
            params: Its parameters.
            call: The call that it belongs to, which notes its time and size.
        """
        with contextlib.suppress(LoomError):
            await self.channel.send({"jsonrpc": "2.0", "method": method, "params": dict(params)}, call)

    async def close(self) -> None:
        """Disconnect; pending requests fail."""
        for task in tuple(self._background):
            task.cancel()
        await self.channel.close()
        self._close_all(ProtocolError("The session is closed", on=self._name, try_="open a new one"))

    def _receive(self, message: Mapping[str, Any], at_ns: int, size: int, call: MeasuredCall | None) -> None:
        if "method" in message:
            call = call or self._call_of(message)
            if call is not None:
                call.received(message, at_ns, size)
            method, params = as_text(message["method"]), as_mapping(message.get("params"))
            if "id" in message:
                self._start(self._answer(message["id"], method, params, call))
            else:
                self._on_notification(method, params, call)
            return
        pending = self._pending.get(int(number_or_none(message.get("id")) or 0))
        if pending is None and message.get("id") is None and "error" in message and call is not None:
            # Without an id the error concerns the request whose response carries it.
            pending = next((one for one in self._pending.values() if one.call is call), None)
        if pending is None:
            return  # late: the request was cancelled, or has its response
        if pending.call is not None:
            pending.call.received(message, at_ns, size)
        if pending.future.done():
            return
        if "error" in message:
            pending.future.set_exception(_error_of(as_mapping(message["error"]), self._name))
        else:
            pending.last, pending.has_any = message.get("result"), True
            if pending.on_result is None or pending.on_result(as_mapping(pending.last)):
                pending.future.set_result(pending.last)

    def _call_of(self, message: Mapping[str, Any]) -> MeasuredCall | None:
        """Return the call of a message on a shared stream: by its progress token, else the one that began last."""
        params = as_mapping(message.get("params"))
        token = params.get("progressToken") or params.get("requestId")
        if isinstance(token, int) and token in self._pending:
            return self._pending[token].call
        return next((one.call for one in reversed(self._pending.values()) if one.call is not None), None)

    async def _answer(self, id: Any, method: str, params: Mapping[str, Any], call: MeasuredCall | None) -> None:
        try:
            outcome: dict[str, Any] = {"result": dict(await self._on_request(method, params, call))}
        except ProtocolError as error:
            outcome = {"error": {"code": error.code or INTERNAL_ERROR, "message": str(error)}}
        with contextlib.suppress(LoomError):
            await self.channel.send({"jsonrpc": "2.0", "id": id, **outcome}, call)

    def _start(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        self._leave(asyncio.create_task(run()))

    def _leave(self, task: asyncio.Task[None]) -> None:
        self._background.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it; its request has failed already

    def _close_all(self, error: LoomError) -> None:
        self._closed = self._closed or error
        for pending in tuple(self._pending.values()):
            if pending.call is not None:
                pending.call.line.done_ns = time.perf_counter_ns()
            if not pending.future.done():
                pending.future.set_exception(error)


def _error_of(fields: Mapping[str, Any], name: str) -> ProtocolError:
    code = number_or_none(fields.get("code"))
    message = as_text(fields.get("message")) or "The server answered with an error that has no message"
    # The local AgentCore states there what failed.
    reason = as_text(as_mapping(fields.get("data")).get("reason"))
    return ProtocolError(
        f"{message}: {reason}" if reason else message, on=name, code=INTERNAL_ERROR if code is None else int(code)
    )
