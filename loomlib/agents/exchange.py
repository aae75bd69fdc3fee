"""One invocation from the stored request to the stored outcome; runs on the engine's event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

from loomlib import errors
from loomlib.aws.addresses import is_loopback
from loomlib.aws.connection import Clients
from loomlib.aws.engine import Engine

from ..presentation.formats import time_limit
from .answers import AnswerReader, Piece, reader_for
from .entry import AgentEntry
from .events import Chunk, InvocationError, InvocationEvent, SessionEnd, SessionStart
from .interruptions import interruption
from .invocation_writer import PROGRESS_INTERVAL_S, InvocationWriter
from .outcome import failure_of, read_refusal, record_of, refusal
from .record import InvocationRecord
from .requests import InvocationRequest
from .timeline import Timeline

if TYPE_CHECKING:
    from loomlib.aws.transport import HttpResponse

_log = logging.getLogger(__name__)

Emit = Callable[[InvocationEvent], None]


class Exchange:
    """One invocation in progress: it emits events while they happen and finally returns the record.

    Args:
        request: The invocation.
        clients: The AWS clients of a connection.
        engine: The event loop to run on.
        writer: Stores the invocation.
        read_timeout_s: The limit for each wait for the next bytes, in seconds.
    """

    def __init__(
        self,
        request: InvocationRequest,
        *,
        clients: Clients,
        engine: Engine,
        writer: InvocationWriter,
        read_timeout_s: float,
    ) -> None:
        self._request, self._clients, self._engine, self._writer = request, clients, engine, writer
        self._read_timeout_s = read_timeout_s
        self._line = Timeline.begin()
        self._id = 0
        self._is_sent = False
        self._stored_ns = 0
        self._storing: Future[None] | None = None
        self._task: asyncio.Task[InvocationRecord] | None = None
        self._emit: Emit = _ignore
        self._stopped = False
        self.record: InvocationRecord | None = None

    def start(self, emit: Emit | None = None) -> Future[InvocationRecord]:
        """Start the invocation; the future holds the record, and raises only if the request was not stored."""
        self._emit = emit or _ignore
        return self._engine.submit(self._run())

    async def _run(self) -> InvocationRecord:
        self._task = asyncio.current_task()
        self._id = await self._writer.begin(self._request)
        self._line = Timeline.begin()
        try:
            if self._stopped:
                raise asyncio.CancelledError
            await self._send()
        except TimeoutError:
            self._line.fail("timeout", f"The response was not complete within {time_limit(self._request.timeout_s)}")
        except asyncio.CancelledError:
            # The caller cancelled. The invocation ends here, with a record like any other.
            self._line.fail("cancelled", "The caller cancelled before the response was complete")
        except errors.AwsError as error:
            self._line.fail(failure_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - credential plugins and the HTTP library are foreign code
            _log.exception("An invocation failed unexpectedly", extra={"invocation_id": self._id})
            self._line.fail("transport" if self._is_sent else "rejected", f"{type(error).__name__}: {error}")
        return await self._finish()

    def cancel(self) -> None:
        """Cancel from any thread: the connection is closed and the failure is "cancelled"; later calls do nothing."""
        self._engine.call_soon(self._cancel)

    def _cancel(self) -> None:
        # While the request is being stored the task continues: a row without an owner would stay pending forever.
        self._stopped = True
        if self._task is not None and self._id and self.record is None:
            self._task.cancel()

    async def _send(self) -> None:
        from loomlib.aws.signing import sign_invocation
        from loomlib.aws.transport import stream_invocation

        invocation = self._request
        request = await asyncio.to_thread(
            sign_invocation,
            self._clients,
            arn=str(invocation.agent.arn),
            region=invocation.agent.region,
            qualifier=invocation.qualifier,
            session_id=invocation.session_id,
            body=invocation.payload.body,
            headers=invocation.headers,
            bearer=invocation.bearer,
        )
        has_begun = False
        try:
            async with (
                asyncio.timeout(invocation.timeout_s),
                stream_invocation(
                    self._engine, request, read_timeout_s=self._read_timeout_s, on_send=self._on_send
                ) as answer,
            ):
                self._line.headers = answer.headers
                self._line.connect_ms, self._line.connection_reused = answer.connect_ms, answer.connection_reused
                if answer.status >= 300:  # a redirect is not a response, and is never followed
                    await self._read_error(answer)
                else:
                    has_begun = True
                    await self._read_answer(answer)
        except errors.TransportError as error:
            if not has_begun or not isinstance(invocation.agent, AgentEntry) or not is_loopback(request.endpoint):
                raise
            self._line.done_ns = time.perf_counter_ns()  # the question below is not the agent's time
            raise await asyncio.to_thread(
                interruption,
                error,
                self._line.clock.unix_s(self._line.sent_ns),
                clients=self._clients,
                agent=invocation.agent,
                session_id=invocation.session_id,
                qualifier=invocation.qualifier,
            ) from error

    def _on_send(self, sent_ns: int) -> None:
        self._line.sent_ns = self._stored_ns = sent_ns
        self._is_sent = True
        self._emit(
            SessionStart(
                session_id=self._request.session_id, client_invoke_time=self._line.invoke_time, invocation_id=self._id
            )
        )

    async def _read_answer(self, answer: HttpResponse) -> None:
        form = self._request.agent.message_format if isinstance(self._request.agent, AgentEntry) else None
        reader = reader_for(answer.headers.get("content-type", ""), form)
        last_ns = answer.head_ns
        async for arrival in answer.arrivals():
            last_ns = arrival.at_ns
            if self._line.first_byte_ns is None:
                self._line.first_byte_ns = last_ns
            self._line.bytes_received += len(arrival.data)
            self._read(reader, arrival.data, last_ns)
            self._store_progress(last_ns)
        self._line.done_ns = time.perf_counter_ns()  # parsing the rest is not the agent's time
        self._line.carried(answer.wire())
        self._read(reader, None, last_ns)

    def _read(self, reader: AnswerReader, data: bytes | None, at_ns: int) -> None:
        for piece in reader.finish() if data is None else reader.feed(data):
            self._add(piece, at_ns)

    def _add(self, piece: Piece, at_ns: int) -> None:
        line = self._line
        if piece.error is not None:
            line.fail("agent_error", f"The agent failed while responding: {piece.error}")
        offset_ms = line.offset_ms(at_ns)
        self._emit(Chunk(text=piece.text, offset_ms=offset_ms, index=len(line.offsets_ms), data=piece.data))
        line.offsets_ms.append(offset_ms)
        if piece.is_protocol_event:
            line.store_event(piece.data)
        if piece.text:
            line.texts.append(piece.text)

    def _store_progress(self, now_ns: int) -> None:
        busy = self._storing is not None and not self._storing.done()
        if not busy and now_ns - self._stored_ns >= PROGRESS_INTERVAL_S * 1e9:
            self._stored_ns = now_ns
            self._storing = self._writer.progress(self._id, self._line)

    async def _read_error(self, answer: HttpResponse) -> None:
        body = await read_refusal(answer, self._line)
        on = f"{self._request.agent.name}, endpoint {self._request.qualifier}"
        raise refusal(answer, body, what="InvokeAgentRuntime", on=on)

    async def _finish(self) -> InvocationRecord:
        line = self._line
        done_ns = line.done_ns or time.perf_counter_ns()
        record = record_of(self._request, line, id=self._id, done_ns=done_ns, was_sent=self._is_sent)
        self.record = record  # from here on cancel() does nothing: the outcome is on its way to the store
        self.record = record = replace(record, stored=await self._writer.finish(record, line.events))
        self._emit(self._last_event(record, line.clock.unix_s(done_ns), line.offset_ms(done_ns)))
        return record

    def _last_event(self, record: InvocationRecord, done_time: float, duration_ms: float) -> InvocationEvent:
        if record.failure is None:
            return SessionEnd(
                session_id=record.session_id,
                client_done_time=done_time,
                client_duration_ms=duration_ms,
                invocation_id=record.id,
            )
        return InvocationError(
            message=record.error_message or record.failure,
            failure=record.failure,
            session_id=record.session_id,
            client_duration_ms=duration_ms,
            invocation_id=record.id,
        )


def _ignore(_event: InvocationEvent) -> None:
    """Discard the events of an invocation whose caller needs only the record."""
