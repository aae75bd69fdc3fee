"""The span processor: adds the session id when a span starts, and exports the span when it ends."""

from __future__ import annotations

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from .send import SpanSender

SESSION_ID = "session.id"


class SessionSpans(SpanProcessor):
    """Adds `session.id` and passes finished, sampled spans to `sender`.

    On a `provider` of the agent's own, a span is left to the agent once an exporter of its own posts to `url` as well.
    """

    def __init__(self, sender: SpanSender, session_id: str, *, url: str, provider: TracerProvider | None) -> None:
        self._sender, self._session_id, self._url, self._provider = sender, session_id, url, provider
        self._processors: object = None
        self._is_from_agent = False

    def move(self, session_id: str, url: str) -> None:
        """Use another session's id from now on."""
        self._session_id, self._url = session_id, url

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Add the session id to a span. OpenTelemetry calls this."""
        # A process is one session from its start to its end, so nothing has to be carried across threads and tasks.
        if SESSION_ID not in (span.attributes or ()):
            span.set_attribute(SESSION_ID, self._session_id)

    def on_end(self, span: ReadableSpan) -> None:
        """Export a finished span. OpenTelemetry calls this."""
        if span.context is not None and span.context.trace_flags.sampled and not self._exported_by_the_agent():
            self._sender.put(span)

    def shutdown(self) -> None:
        """Stop exporting. OpenTelemetry calls this when the provider ends."""
        self.force_flush(1_000)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send queued spans. OpenTelemetry and agents call this."""
        return self._sender.flush(timeout_millis / 1_000)

    def _exported_by_the_agent(self) -> bool:
        if self._provider is None:
            return False
        # OpenTelemetry has no public way to ask. The tuple is replaced when a processor is added.
        processors: tuple[object, ...] = getattr(
            getattr(self._provider, "_active_span_processor", None), "_span_processors", ()
        )
        if processors is not self._processors:
            exporters = [getattr(item, "span_exporter", None) for item in processors]
            self._is_from_agent = any(str(getattr(item, "_endpoint", "")).startswith(self._url) for item in exporters)
            self._processors = processors
        return self._is_from_agent
