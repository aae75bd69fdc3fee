"""A lean HTTP/1.1 client: requests as prepared bytes, responses with the times at which the socket delivered them.

No request is sent twice: one whose connection broke has failed.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from ...presentation.formats import time_limit
from .evidence import FailureEvidence
from .form import RequestForm
from .journal import CANCELLED, COMPLETE, HTTP_ERROR, Ended
from .response import FramingError, ResponseReader
from .rpc_evidence import RpcEvidence

KEEP_ALIVE_NS: Final = 15_000_000_000
"""Seconds for which an idle connection can be reused, as in `loomlib.aws.transport`."""
_NO_ANSWER: Final = "the response has no JSON-RPC answer"


class Flight:
    """A call from its sending to its end.

    Attributes:
        call: The number of the call in this process's plan.
        ended: Its entry for the journal.
        request: The bytes of the request.
    """

    __slots__ = ("arrivals", "call", "connection", "ended", "evidence", "last_ns", "reader", "request")

    def __init__(self, call: int, ended: Ended, request: bytes) -> None:
        self.call, self.ended, self.request = call, ended, request
        self.reader = ResponseReader()
        self.evidence: FailureEvidence | RpcEvidence | None = None
        self.last_ns = -1
        self.arrivals: list[int] = []
        self.connection: _Connection | None = None


class LoadClient:
    """Sends calls over connections that it keeps open, one for each concurrent call.

    Args:
        loop: The running loop.
        form: The form of the requests.
        origin_ns: The start of the step's time scale, a reading of `time.perf_counter_ns`.
        on_end: Called with each call that has ended.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        form: RequestForm,
        *,
        origin_ns: int,
        on_end: Callable[[Flight], None],
    ) -> None:
        url = urlsplit(form.url)
        self._loop, self._on_end = loop, on_end
        self.origin_ns = origin_ns
        self.keep_arrivals, self._is_json_rpc = form.keep_arrivals, form.is_json_rpc
        self._host, self._port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        self._tls = ssl.create_default_context(cafile=form.ca_bundle) if url.scheme == "https" else None
        self._timeout_ns = int(form.timeout_s * 1e9)
        self._timeout_text = f"the response was not complete within {time_limit(form.timeout_s)}"
        self._idle: list[_Connection] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._flights: dict[int, Flight] = {}
        self._watch: asyncio.TimerHandle | None = None

    @property
    def flights(self) -> int:
        """Number of calls in flight."""
        return len(self._flights)

    def send(self, flight: Flight) -> None:
        """Send a call over an open connection, or open a new one."""
        self._flights[flight.call] = flight
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout_ns / 1e9, self._expire)
        now_ns = time.perf_counter_ns()
        if (connection := self._idle_connection(now_ns)) is not None:
            flight.ended.connect_ns = 0
            flight.ended.sent_ns = time.perf_counter_ns() - self.origin_ns
            connection.send(flight)
            return
        flight.ended.sent_ns = now_ns - self.origin_ns
        task = self._loop.create_task(self._open(flight, now_ns))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def cancel_all(self) -> None:
        """End all calls as cancelled."""
        for flight in list(self._flights.values()):
            self.end(flight, CANCELLED, "the load step was stopped before the response was complete")

    def close(self) -> None:
        """Close all connections."""
        if self._watch is not None:
            self._watch.cancel()
        for connection in self._idle:
            connection.abort()
        self._idle.clear()

    def end(self, flight: Flight, end: str, message: str = "", done_ns: int | None = None) -> None:
        """End a call; a second end is ignored.

        Args:
            flight: The call.
            end: Its outcome, as in `Ended.end`.
            message: What failed.
            done_ns: The time of the end, a reading of `time.perf_counter_ns`; now by default.
        """
        if self._flights.pop(flight.call, None) is None:
            return
        ended, reader, evidence = flight.ended, flight.reader, flight.evidence
        ended.done_ns = (done_ns or time.perf_counter_ns()) - self.origin_ns
        ended.status, ended.end, ended.message = reader.status, end, message[:200]
        if evidence is not None:
            ended.evidence, is_malformed = evidence.outcome()
            if end == COMPLETE and is_malformed:
                ended.end = "malformed_stream"
                ended.message = _NO_ANSWER if self._is_json_rpc else "the body is not JSON, unlike its content type"
            if ended.evidence:
                ended.content_type = reader.headers.get("content-type", "")
                ended.error_type = reader.headers.get("x-amzn-errortype", "")
        elif end == COMPLETE and self._is_json_rpc:
            ended.end, ended.message = "malformed_stream", _NO_ANSWER
        ended.arrivals_ns = flight.arrivals
        connection, flight.connection = flight.connection, None
        if connection is not None:
            if reader.complete and reader.reusable:
                connection.free()
                self._idle.append(connection)
            else:
                connection.abort()
        self._on_end(flight)

    def evidence_of(self, reader: ResponseReader) -> FailureEvidence | RpcEvidence:
        """Return the collector of failure evidence for a response whose head has arrived."""
        if self._is_json_rpc and reader.status < 300:
            return RpcEvidence(reader.headers)
        return FailureEvidence(reader.status, reader.headers)

    def forget(self, connection: _Connection) -> None:
        """Stop using a connection."""
        if connection in self._idle:
            self._idle.remove(connection)

    def _idle_connection(self, now_ns: int) -> _Connection | None:
        if not self._idle:
            return None
        connection = self._idle.pop()
        if now_ns - connection.free_ns <= KEEP_ALIVE_NS:
            return connection
        # The last one is the most recent: the others are too old as well.
        for old in (connection, *self._idle):
            old.abort()
        self._idle.clear()
        return None

    async def _open(self, flight: Flight, begun_ns: int) -> None:
        try:
            _, connection = await self._loop.create_connection(
                lambda: _Connection(self), self._host, self._port, ssl=self._tls
            )
        except OSError as error:  # ssl.SSLError is one
            reason = error.strerror or str(error)
            self.end(flight, "transport", f"No connection: {reason}")
            return
        if flight.call not in self._flights:  # it timed out meanwhile
            connection.free()
            self._idle.append(connection)
            return
        flight.ended.connect_ns = time.perf_counter_ns() - begun_ns
        connection.send(flight)

    def _expire(self) -> None:
        """End the calls that timed out; calls are in the order of their sending."""
        self._watch = None
        now_ns = time.perf_counter_ns() - self.origin_ns
        while self._flights:
            flight = next(iter(self._flights.values()))
            left_ns = flight.ended.sent_ns + self._timeout_ns - now_ns
            if left_ns > 0:
                self._watch = self._loop.call_later(left_ns / 1e9, self._expire)
                return
            self.end(flight, "timeout", self._timeout_text)


class _Connection(asyncio.Protocol):
    """One connection, which carries one call at a time."""

    __slots__ = ("_client", "_flight", "_transport", "free_ns")

    def __init__(self, client: LoadClient) -> None:
        self._client = client
        self._flight: Flight | None = None
        self._transport: asyncio.Transport | None = None
        self.free_ns = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, flight: Flight) -> None:
        """Send a call's request."""
        assert self._transport is not None
        self._flight, flight.connection = flight, self
        self._transport.write(flight.request)
        flight.request = b""

    def free(self) -> None:
        """Mark the connection as free."""
        self._flight, self.free_ns = None, time.perf_counter_ns()

    def abort(self) -> None:
        """Close the connection at once."""
        self._flight = None
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        now_ns = time.perf_counter_ns()
        flight = self._flight
        if flight is None:  # no request is pending
            self._client.forget(self)
            self.abort()
            return
        reader = flight.reader
        try:
            body = reader.feed(data)
        except FramingError as error:
            self._client.end(flight, "transport", f"The response cannot be read: {error}")
            return
        if body:
            ended = flight.ended
            ended.bytes += len(body)
            ended.chunks += 1
            if flight.last_ns < 0:
                ended.first_ns = now_ns - self._client.origin_ns
                flight.evidence = self._client.evidence_of(reader)
            elif now_ns - flight.last_ns > ended.gap_ns:
                ended.gap_ns = now_ns - flight.last_ns
            flight.last_ns = now_ns
            if self._client.keep_arrivals:
                flight.arrivals.append(now_ns - self._client.origin_ns)
            assert flight.evidence is not None
            flight.evidence.feed(body)
        if reader.complete:
            self._client.end(flight, HTTP_ERROR if reader.status >= 300 else COMPLETE, done_ns=now_ns)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        now_ns = time.perf_counter_ns()
        self._client.forget(self)
        flight, self._flight = self._flight, None
        if flight is None:
            return
        flight.connection = None
        if flight.reader.close():
            end = HTTP_ERROR if flight.reader.status >= 300 else COMPLETE
            self._client.end(flight, end, done_ns=now_ns)
            return
        begun = "before the response was complete" if flight.reader.status >= 0 else "without a response"
        reason = f": {exc}" if exc else ""
        self._client.end(flight, "transport", f"The connection was closed {begun}{reason}", now_ns)
