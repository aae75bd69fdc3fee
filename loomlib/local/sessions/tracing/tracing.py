"""The process's tracer provider, and the invocations that spans belong to."""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context, attach
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.version import __version__

from .aws_calls import AwsCalls
from .invocation import InvocationSpan
from .pauses import Pauses
from .points import Points
from .processor import SessionSpans
from .send import SpanSender
from .stand_in import StandIn, place

_AsgiMessage = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_AsgiMessage]]
_Send = Callable[[_AsgiMessage], Awaitable[None]]
_App = Callable[[MutableMapping[str, Any], _Receive, _Send], Awaitable[None]]

_SCOPE_NAME = "loom.local.invocations"
_EXIT_FLUSH_S = 4.0  # of the five seconds between SIGTERM and SIGKILL


class OwnProvider(TracerProvider):
    """Loom's provider; its resource is the one that the service specified, also in a forked process."""

    def _handle_fork(self) -> None:
        # OpenTelemetry's SDK would look through the metadata of every installed package for detectors.
        self._tracers_lock = threading.Lock()


class Tracing:
    """The process's tracing; `settings` are the service's, from the process's environment.

    A provider of the agent's own wins, whenever it is set: our processor is added to it. Until then, and usually
    permanently, spans that would have been dropped go through our provider, which is not the global one. Only for a
    package that requests `opentelemetry-instrument` is ours the global one, as AWS's would be.

    `arrivals` holds, in the context of a request, a list of its ASGI scope, its clock (`InvocationClock`) and its
    `InvocationSpan`, None until there is one.
    """

    def __init__(
        self, settings: str, arrivals: ContextVar[list[Any] | None], on_first: Callable[[], object] = bool
    ) -> None:
        options = json.loads(settings)
        self._url: str = options["url"]
        self._session_id: str = options["session_id"]
        # Not Resource.create: it looks through the metadata of every installed package for detectors.
        self._resource = Resource({**options["resource"], "telemetry.sdk.version": __version__})
        self.points = Points(options["resource"] | {"telemetry.sdk.version": __version__})
        self.aws_calls = AwsCalls()
        self._pauses = Pauses()
        self._takes_metrics: bool = options["metrics"]
        self._sender = SpanSender(self._url, options["headers"], points=self.points, on_first=on_first)
        self._arrivals = arrivals
        self._attached: list[object] = []
        self._processors: list[SessionSpans] = []
        self._own: TracerProvider | None = None
        self._roots: trace.Tracer | None = None
        atexit.register(self.flush)

    def flush(self) -> None:
        """Send finished spans; wait at most a second."""
        self._sender.flush(_EXIT_FLUSH_S)

    def become_global(self) -> None:
        """Set our provider as the global one, as `opentelemetry-instrument` sets AWS's."""
        trace.set_tracer_provider(self._provider())

    def stand_in(self, tracer: trace.Tracer, name: str, *scope: Any, **more_scope: Any) -> trace.Tracer:
        """Return `tracer`, replaced by a recording one until the agent sets its own provider."""
        if isinstance(tracer, trace.ProxyTracer):
            recording_tracer = StandIn(
                lambda: self._provider().get_tracer(name, *scope, **more_scope), self._context_for
            )
            if not place(recording_tracer, tracer):
                self.become_global()  # an OpenTelemetry with another structure: the proxy finds this one
        return tracer

    def stand_in_meter(self, meter: Any, name: str, version: str | None = None, *_: Any, **more: Any) -> Any:
        """Return `meter`, replaced by a recording one until the agent sets its own meter provider."""
        if not self._takes_metrics:
            return meter
        try:
            from .meters import StandInMeter
        except ImportError:  # an OpenTelemetry without one of the instruments: its spans are exported all the same
            return meter
        return StandInMeter(meter, self.points, name, version)

    def move(self, settings: str) -> None:
        """Apply the settings of a session that is forked from this process to all providers and tracers in use."""
        options = json.loads(settings)
        self._url, self._session_id = options["url"], options["session_id"]
        resource_attributes = options["resource"] | {"telemetry.sdk.version": __version__}
        # Every tracer and span holds this object.
        self._resource._attributes = Resource(resource_attributes).attributes  # pyright: ignore
        self.points.move(resource_attributes)
        self._sender.move(self._url, options["headers"])
        for processor in self._processors:
            processor.move(self._session_id, self._url)

    @property
    def has_spans(self) -> bool:
        """Whether there have been spans to export."""
        return self._sender.has_taken_any

    def adopt(self, provider: object) -> None:
        """Add our processor to the agent's own provider, once."""
        if provider is self._own or any(provider is attached for attached in self._attached):
            return
        self._attached.append(provider)
        if isinstance(provider, TracerProvider):
            provider.add_span_processor(self._processor(provider))

    async def serve(self, app: _App, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Let `app` handle the request within its root span."""
        self.adopt(trace.get_tracer_provider())
        invocation = self._invocation()
        if invocation is None:
            return await app(scope, receive, send)
        attach(invocation.begin())

        async def watch(message: _AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                invocation.record_status(message["status"])
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                invocation.end()

        try:
            await app(scope, receive, watch)
        except BaseException as failure:
            invocation.end(failure)
            raise
        invocation.end()
        return None

    def end(self, arrival: list[Any]) -> None:
        """End a request that `serve` did not handle, because tracing started during the request."""
        if arrival[2] is not None:
            arrival[2].end()

    def _invocation(self) -> InvocationSpan | None:
        arrival = self._arrivals.get()
        if arrival is None:
            return None
        if arrival[2] is None:
            if self._roots is None:
                self._roots = trace.get_tracer(_SCOPE_NAME)
            arrival[2] = InvocationSpan(self._roots, arrival[0], self._session_id, arrival[1], self._pauses)
        return arrival[2]

    def _context_for(self, context: Context | None) -> Context | None:
        """Return the context for a span; a request's first one may start before its root span is current."""
        if context is not None or trace.get_current_span().get_span_context().is_valid:
            return context
        invocation = self._invocation()
        return invocation.begin() if invocation is not None else None

    def _provider(self) -> TracerProvider:
        if self._own is None:
            self._own = OwnProvider(resource=self._resource, shutdown_on_exit=False)
            self._own.add_span_processor(self._processor(None))
        return self._own

    def _processor(self, provider: TracerProvider | None) -> SessionSpans:
        processor = SessionSpans(self._sender, self._session_id, url=self._url, provider=provider)
        self._processors.append(processor)
        return processor
