"""Sends spans to the local service: a bounded queue, and a thread that posts its contents."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from urllib.parse import urlsplit

from opentelemetry.sdk.trace import ReadableSpan

from .encode import request_bodies
from .points import Points

LINGER_S = 0.1
"""How long the first span waits for others. A killed process loses the spans of its last tenth of a second."""

WAITING_SPANS = 2_048
"""Maximum number of queued spans; further ones are dropped and counted.

OpenTelemetry's own queue has the same bound (OTEL_BSP_MAX_QUEUE_SIZE).
"""

_TIMEOUT_S = 5.0
_PAUSES_S = (0.2, 1.0)  # between the three attempts for a request that was not accepted
_RETRYABLE = (429, 502, 503, 504)  # opentelemetry.io/docs/specs/otlp, "Retryable Response Codes"


class SpanSender:
    """Sends spans to `{url}/v1/traces` as OTLP/JSON, from a thread that starts with the first span.

    `put` never waits. Spans that the service does not accept in three attempts are lost: a line on stderr gives the
    reason, and a later one the total. After the spans the thread posts what is in `points` to `{url}/v1/metrics`, once.
    `on_first` is called with the first span.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        points: Points | None = None,
        on_first: Callable[[], object] = bool,
    ) -> None:
        self._url, self._headers = url, {**headers, "content-type": "application/json"}
        self._points, self._on_first = points, on_first
        self.has_taken_any = False
        # SimpleQueue.put is reentrant: a signal handler may call it while it interrupts another call.
        self._queue: SimpleQueue[ReadableSpan | threading.Event] = SimpleQueue()
        self._urgent = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._thread: threading.Thread | None = None
        self._begun = threading.Lock()
        self._lost = self._reported = 0
        self._down = self._metrics_down = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def move(self, url: str, headers: Mapping[str, str]) -> None:
        """Send to another address, or for another session, from now on."""
        self._url, self._headers = url, {**headers, "content-type": "application/json"}
        self.has_taken_any = False

    def put(self, span: ReadableSpan) -> None:
        """Queue a span; it is sent within `LINGER_S` seconds."""
        if not self.has_taken_any:
            self.has_taken_any = True
            self._on_first()
        if self._queue.qsize() >= WAITING_SPANS:
            self._lost += 1
            return
        self._queue.put(span)
        if self._thread is None:
            self._start()

    def flush(self, within_s: float) -> bool:
        """Send queued spans at once; return whether that finished in time."""
        if self._thread is None:
            if self._points is None or not self._points.waits:
                return True
            self._start()
        flush_event = threading.Event()
        self._queue.put(flush_event)
        self._urgent.set()
        in_time = flush_event.wait(within_s)
        if self._lost > self._reported:
            self._reported = self._lost
            self._say(f"{self._lost} spans in all were not exported")
        return in_time

    def _start(self) -> None:
        # Acquired once, never released: another thread or a signal handler may queue its first span during this.
        if not self._begun.acquire(blocking=False):
            return
        self._thread = threading.Thread(target=self._run, name="loom-spans", daemon=True)
        self._thread.start()

    def _begin_anew(self) -> None:
        """Reset in a forked child: queue, thread and connection belong to the parent."""
        self._queue, self._urgent = SimpleQueue(), threading.Event()
        self._connection = self._thread = None
        self._begun = threading.Lock()

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if isinstance(first, ReadableSpan):
                self._urgent.wait(LINGER_S)
            self._urgent.clear()
            spans, waiting = self._drain(first)
            self._send(spans)
            self._send_points()
            for flush_event in waiting:
                flush_event.set()

    def _drain(self, first: ReadableSpan | threading.Event) -> tuple[list[ReadableSpan], list[threading.Event]]:
        spans: list[ReadableSpan] = []
        waiting: list[threading.Event] = []
        item = first
        try:
            while True:
                if isinstance(item, ReadableSpan):
                    spans.append(item)
                else:
                    waiting.append(item)
                if len(spans) >= WAITING_SPANS:
                    break
                item = self._queue.get_nowait()
        except Empty:
            pass
        return spans, waiting

    def _send(self, spans: Sequence[ReadableSpan]) -> None:
        try:
            for body, count in request_bodies(spans):
                self._post(body, count)
        except Exception as failure:  # noqa: BLE001 (whatever a span holds, the thread has to send the next one)
            self._lose(len(spans), repr(failure))

    def _send_points(self) -> None:
        try:
            if self._points is None or not (body := self._points.take()) or self._down:
                return
            reason, _ = self._attempt("metrics", body)
        except Exception as failure:  # noqa: BLE001 (as above)
            reason = repr(failure)
        if reason and not self._metrics_down:
            self._say(f"metrics were not exported: {reason}")
        self._metrics_down = bool(reason)

    def _post(self, body: bytes, count: int) -> None:
        for pause_s in (*_PAUSES_S, None):
            reason, again = self._attempt("traces", body)
            if not reason:
                self._down = False
                return
            # Once the service is known to be unavailable, only one attempt is made; otherwise the queue would fill up.
            if pause_s is None or not again or self._down or self._urgent.wait(pause_s):
                self._lose(count, reason)
                return

    def _attempt(self, signal: str, body: bytes) -> tuple[str, bool]:
        """Return why the service rejected the request ("" on success), and whether a retry may succeed."""
        reused = self._connection is not None
        try:
            status, answer = self._exchange(signal, body)
        except TimeoutError:
            self._hang_up()
            return f"no answer from {self._url} in {_TIMEOUT_S:g} s", False  # perhaps received: never send twice
        except (OSError, http.client.HTTPException) as failure:
            self._hang_up()
            return (
                self._attempt(signal, body) if reused else (f"{self._url}: {failure or type(failure).__name__}", True)
            )
        if status == 200:
            self._count_rejected(answer)
            return "", False
        return f"{self._url} answered {status}: {answer[:200].decode('utf-8', 'replace')}", status in _RETRYABLE

    def _exchange(self, signal: str, body: bytes) -> tuple[int, bytes]:
        target = urlsplit(self._url)
        if self._connection is None:
            self._connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=_TIMEOUT_S)
        self._connection.request("POST", f"{target.path}/v1/{signal}", body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _count_rejected(self, answer: bytes) -> None:
        if b"rejectedSpans" not in answer:
            return
        partial = json.loads(answer)["partialSuccess"]
        if count := int(partial.get("rejectedSpans", 0)):
            self._lost += count
            self._tell(count, str(partial.get("errorMessage") or "the service rejected them"))

    def _lose(self, count: int, reason: str) -> None:
        self._lost += count
        if not self._down:
            self._down = True
            self._tell(count, f"{reason} (later ones are counted only)")

    def _tell(self, count: int, reason: str) -> None:
        self._reported = self._lost
        self._say(f"{count} spans were not exported: {reason}")

    def _say(self, message: str) -> None:
        # The session's id, because the lines of all processes are searched together for a trace.
        with contextlib.suppress(OSError, ValueError, AttributeError):  # the agent may have closed or replaced it
            sys.stderr.write(f"Loom: session {self._headers.get('x-loom-session', '')}: {message}\n")
