"""One AG-UI run over a WebSocket, stored like an invocation over HTTP: the same events, times and outcome."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from loomlib import errors

from ...presentation.formats import time_limit
from ..agui.events import read_event
from ..answers import EventStreamReader
from ..exchange import Exchange
from ..sse import SseEvent

_ENDS: Final = ("RUN_FINISHED", "RUN_ERROR")


class AguiSocketExchange(Exchange):
    """A run that opens a WebSocket, sends its input as one message, and reads events until the run ends.

    Each run has a WebSocket of its own, so that it has its own trace and can be cancelled. Times count from the
    handshake, which contains the start of a new session, as a request over HTTP does.
    """

    async def _send(self) -> None:
        from loomlib.aws.signing import sign_get
        from loomlib.aws.websocket import open_websocket

        invocation, line = self._request, self._line
        request = await asyncio.to_thread(
            sign_get,
            self._clients,
            "ws",
            arn=str(invocation.agent.arn),
            region=invocation.agent.region,
            qualifier=invocation.qualifier,
            session_id=invocation.session_id,
            headers=invocation.headers,
            bearer=invocation.bearer,
        )
        reader = EventStreamReader()
        async with (
            asyncio.timeout(invocation.timeout_s),
            open_websocket(self._engine, request, on=invocation.agent.name) as socket,
        ):
            line.headers, line.connection_reused = socket.headers, False
            self._on_send(socket.sent_ns)
            await socket.send(invocation.payload.body.decode("utf-8", "replace"))
            while True:
                try:
                    async with asyncio.timeout(self._read_timeout_s):
                        frame = await socket.receive()
                except TimeoutError as error:
                    raise errors.RequestTimeoutError(
                        f"No message came within {time_limit(self._read_timeout_s)}",
                        on=invocation.agent.name,
                        try_="the agent's logs",
                    ) from error
                if frame.data is None:
                    line.done_ns = frame.at_ns
                    raise self._broken(frame.close_code)
                data = frame.data.encode() if isinstance(frame.data, str) else frame.data
                if line.first_byte_ns is None:
                    line.first_byte_ns = frame.at_ns
                line.bytes_received += len(data)
                self._add(reader.read(SseEvent(data=data.decode("utf-8", "replace"))), frame.at_ns)
                self._store_progress(frame.at_ns)
                event = read_event(data)
                if event is not None and event.type in _ENDS:
                    line.done_ns = time.perf_counter_ns()
                    line.carried(socket.wire())
                    return

    def _broken(self, close_code: int | None) -> errors.AwsError:
        on = self._request.agent.name
        if close_code is None:
            return errors.TransportError("The WebSocket broke before the run ended", on=on, try_="the agent's logs")
        return errors.AgentFailedError(
            f"The agent closed the WebSocket with the code {close_code} before the run ended",
            on=on,
            try_="agent.protocols.agui(), if the agent has no AG-UI at its WebSocket",
        )
