"""The root span of one invocation, `POST /invocations`, from the request's arrival to the response's last byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from .parents import incoming_context
from .pauses import Pauses, UnixClock

_REQUEST_ID_HEADER = "x-amzn-bedrock-agentcore-runtime-request-id"

GARBAGE_COLLECTION = "garbage collection"
"""Name of the root span's events for pauses; `loomlib.telemetry.traces.attribution` reads them."""


class InvocationSpan:
    """A request and its root span; `begin` starts the span (with the request's arrival time), `end` ends it once."""

    def __init__(
        self, tracer: Tracer, scope: Mapping[str, Any], session_id: str, clock: UnixClock, pauses: Pauses
    ) -> None:
        self._tracer, self._scope, self._session_id, self._clock = tracer, scope, session_id, clock
        self._pauses = pauses
        self._context: Context | None = None
        self._span: Span | None = None

    def begin(self) -> Context:
        """Start the root span, and return the context for the request's other spans."""
        if self._context is None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._scope["headers"]}
            incoming = incoming_context(headers, self._session_id)
            self._span = self._tracer.start_span(
                f"{self._scope['method']} {self._scope['path']}",
                incoming,
                SpanKind.SERVER,
                _attributes(self._scope, headers),
                start_time=self._clock.arrived_ns,
            )
            self._context = set_span_in_context(self._span, incoming)
        return self._context

    def record_status(self, status: int) -> None:
        """Record the response's status code."""
        if self._span is not None:
            self._span.set_attribute("http.status_code", status)
            if status >= 500:
                self._span.set_status(Status(StatusCode.ERROR))

    def end(self, failure: BaseException | None = None) -> None:
        """End the span: the response is complete, or `failure` interrupted it."""
        span, self._span = self._span, None
        if span is None:
            return
        if failure is not None:
            if isinstance(failure, Exception):
                span.record_exception(failure)
            span.set_status(Status(StatusCode.ERROR, f"{type(failure).__name__}: {failure}".rstrip(": ")))
        for start_ns, end_ns in self._pauses.since(self._clock):
            span.add_event(GARBAGE_COLLECTION, {"duration_ns": end_ns - start_ns}, timestamp=start_ns)
        span.end()


def _attributes(scope: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, str | int]:
    """Return the attributes that AWS's distribution gives such a span (opentelemetry.instrumentation.starlette)."""
    attributes: dict[str, str | int] = {
        "http.scheme": scope.get("scheme", "http"),
        "http.flavor": scope.get("http_version", "1.1"),
        "http.method": scope["method"],
        "http.target": scope["path"],
        "http.route": scope["path"],
    }
    for name, header in (
        ("http.host", "host"),
        ("http.user_agent", "user-agent"),
        ("aws.request_id", _REQUEST_ID_HEADER),
    ):
        if header in headers:
            attributes[name] = headers[header]
    if headers.get("content-length", "").isdigit():
        attributes["http.request_content_length"] = int(headers["content-length"])
    return attributes
