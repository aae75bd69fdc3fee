"""Detects when an agent starts tracing, and then loads the package `tracing`. It runs in the agent's process.

An agent that never traces pays only for this module, which imports nothing, and for one variable per invocation.
"""

from __future__ import annotations

import os
import sys
import time
from _contextvars import ContextVar
from _frozen_importlib import _load  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from _frozen_importlib_external import spec_from_file_location

TYPE_CHECKING = False  # `typing` itself takes two milliseconds
if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from types import ModuleType
    from typing import Any

    from uvicorn.server import Server

    from .tracing import Tracing


SESSION_HEADER = b"x-amzn-bedrock-agentcore-runtime-session-id"
"""Every invocation has it; a health check, which an MCP server receives at the same path, does not."""


class InvocationClock:
    """Unix time of one invocation: read once at its arrival, and counted by the monotonic clock from then on.

    So its spans keep correct durations and stay in sequence if the system clock is changed in the meantime.
    """

    __slots__ = ("arrived_ns", "monotonic_ns")

    def __init__(self) -> None:
        self.arrived_ns, self.monotonic_ns = time.time_ns(), time.monotonic_ns()

    def now_ns(self) -> int:
        """Return the Unix time in nanoseconds."""
        return self.unix_ns(time.monotonic_ns())

    def unix_ns(self, monotonic_ns: int) -> int:
        """Return the Unix time of a reading of the monotonic clock."""
        return self.arrived_ns + monotonic_ns - self.monotonic_ns


class Spans:
    """The agent's spans, if it creates any.

    Args:
        settings: The content of the variable LOOM_SPANS.
        notify: Sends a byte to the service (see `notices.SessionNotices.on_signal`): `-` after an invocation that left
            nothing to export, so that no reader waits for its spans, and `+` once that has changed.
        path: The path of invocations.
    """

    def __init__(self, settings: str, notify: Callable[[bytes], object], path: str = "/invocations") -> None:
        self.settings: str | None = settings
        self.notify, self.has_reported_none, self.path = notify, False, path
        self.adot = '"adot": true' in settings
        self.has_others = False
        self.tracing: Tracing | None = None
        self.arrivals: ContextVar[list[Any] | None] = ContextVar("loom_arrivals", default=None)
        self.clock = InvocationClock()

    def hooks(self) -> dict[str, Callable[[ModuleType], object]]:
        """Return the function to call after each module is imported."""
        return {
            "opentelemetry.trace": self.patch,
            "opentelemetry.metrics._internal": self.patch_meters,
            "strands.telemetry.tracer": self.load,
            "opentelemetry.sdk.trace": self.patch_providers,
            "botocore.client": self.patch_calls,
        }

    def load(self, module: ModuleType | None = None) -> Tracing | None:
        """Return the tracing for these settings, or None if the agent's OpenTelemetry version is not supported."""
        if self.tracing is None and self.settings:
            settings, self.settings = self.settings, None
            try:
                self.tracing = load_package("tracing").Tracing(settings, self.arrivals, self.report_first_span)
            except Exception as failure:  # noqa: BLE001 (an agent must run, traced or not)
                sys.stderr.write(f"Loom: spans are not exported: {type(failure).__name__}: {failure}\n")
        return self.tracing

    def patch_providers(self, module: ModuleType) -> None:
        """Detect other span processors, which may already export the agent's spans, and set the clock of spans."""
        # Fork handlers run in their modules' import order; a provider's handler submits work to a thread pool.

        add = module.TracerProvider.add_span_processor

        def add_and_note(provider: Any, span_processor: Any) -> None:
            if not type(span_processor).__module__.startswith("_loom_"):
                self.has_others = True
            add(provider, span_processor)

        module.TracerProvider.add_span_processor = add_and_note
        vars(module)["time_ns"] = self.time_ns
        if self.adot:
            self.be_global(module)  # AWS's distribution, which the package asks for, does so before the agent runs

    def time_ns(self) -> int:
        """Return the Unix time by the current (or else the last) invocation's clock, for spans and their events."""
        arrival = self.arrivals.get()
        return (self.clock if arrival is None else arrival[1]).now_ns()

    def be_global(self, module: ModuleType) -> None:
        """Set Loom's provider as the global one."""
        if (tracing := self.load()) is not None:
            tracing.become_global()

    def patch(self, module: ModuleType) -> None:
        """Detect requests for a tracer, and the setting of a provider."""
        get_tracer, set_provider = module.ProxyTracerProvider.get_tracer, module.set_tracer_provider

        def get_recording_tracer(provider: Any, *scope: Any, **more: Any) -> Any:
            tracer, tracing = get_tracer(provider, *scope, **more), self.load()
            return tracer if tracing is None else tracing.stand_in(tracer, *scope, **more)

        def set_and_adopt_provider(provider: Any) -> None:
            set_provider(provider)
            if (tracing := self.load()) is not None:
                tracing.adopt(module.get_tracer_provider())

        module.ProxyTracerProvider.get_tracer = get_recording_tracer
        vars(module)["set_tracer_provider"] = set_and_adopt_provider

    def patch_meters(self, module: ModuleType) -> None:
        """Detect requests for a meter, and the setting of a meter provider."""
        proxy = module._ProxyMeterProvider
        get_meter, on_set = proxy.get_meter, proxy.on_set_meter_provider

        def get_recording_meter(provider: Any, name: str, *scope: Any, **more: Any) -> Any:
            meter = get_meter(provider, name, *scope, **more)
            # The SDK requests one for its own metrics, which duplicate the spans.
            if name == "opentelemetry-sdk" or not isinstance(meter, module._ProxyMeter):
                return meter
            tracing = self.load()
            return meter if tracing is None else tracing.stand_in_meter(meter, name, *scope, **more)

        def on_set_and_stop(provider: Any, real: Any) -> None:
            on_set(provider, real)
            if self.tracing is not None:
                self.tracing.points.stop()

        proxy.get_meter, proxy.on_set_meter_provider = get_recording_meter, on_set_and_stop

    def patch_calls(self, module: ModuleType) -> None:
        """Wrap boto3's calls in spans once the agent traces; boto3 alone does not load OpenTelemetry."""
        call = module.BaseClient._make_api_call

        def call_within_span(client: Any, operation_name: Any, api_params: Any) -> Any:
            if self.tracing is None:
                return call(client, operation_name, api_params)
            return self.tracing.aws_calls.make(call, client, operation_name, api_params)

        module.BaseClient._make_api_call = call_within_span
        if self.adot and self.tracing is None:
            self.be_global(module)  # AWS's distribution would trace them

    def move(self, settings: str) -> None:
        """Apply the settings of a session that is forked from this process."""
        self.has_reported_none = False
        if self.tracing is not None:
            self.tracing.move(settings)
        else:
            self.settings = settings

    def report_first_span(self) -> None:
        """Report that the first span was created, after an earlier report of no spans."""
        if self.has_reported_none:
            self.has_reported_none = False
            self.notify(b"+")

    def report_no_spans(self) -> None:
        """At the end of an invocation, report if there are no spans to export."""
        if not (self.has_reported_none or self.has_others or (self.tracing is not None and self.tracing.has_spans)):
            self.has_reported_none = True
            self.notify(b"-")

    def watch(self, server: Server) -> None:
        """Wrap the agent's application, and flush the spans when the server shuts down."""
        if not server.config.loaded:
            server.config.load()
        app, shutdown = server.config.loaded_app, server.shutdown

        def answer(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
            return (
                self.serve(app, scope, receive, send)
                if scope.get("path") == self.path and any(name == SESSION_HEADER for name, _ in scope["headers"])
                else app(scope, receive, send)
            )

        async def shut_down_and_flush(sockets: list[socket.socket] | None = None) -> None:
            await shutdown(sockets)
            if self.tracing is not None:
                self.tracing.flush()

        server.config.loaded_app = answer
        server.shutdown = shut_down_and_flush  # before uvicorn raises SIGTERM again, which ends the process

    async def serve(self, app: Any, scope: Any, receive: Any, send: Any) -> None:
        """Serve one invocation and record its arrival time."""
        self.clock = InvocationClock()
        arrival = [scope, self.clock, None]
        self.arrivals.set(arrival)
        try:
            if self.tracing is not None:
                await self.tracing.serve(app, scope, receive, send)
            else:
                try:
                    await app(scope, receive, send)
                finally:
                    if self.tracing is not None:
                        self.tracing.end(arrival)
        finally:
            self.report_no_spans()


def load_package(name: str) -> Any:
    """Load the package next to this file, under a name that cannot clash with an agent's package."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name, "__init__.py")
    return _load(spec_from_file_location(f"_loom_{name}", path))  # pyright: ignore
