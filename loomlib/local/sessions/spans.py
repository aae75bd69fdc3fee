"""Notices that the agent begins to trace, and loads the package `tracing` then. It runs in the agent's process.

An agent that never traces pays for this module, which imports nothing, and for a variable a call.
"""

from __future__ import annotations

import os
import sys
from _contextvars import ContextVar
from time import time_ns

TYPE_CHECKING = False  # `typing` itself takes two milliseconds
if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable
    from types import ModuleType
    from typing import Any

    from uvicorn.server import Server

    from .tracing import Tracing


class Spans:
    """The agent's spans, so far as it has any; `settings` is the content of the variable LOOM_SPANS.

    `tell` says a word of `loomlib.local.sessions.words` to the service: after an invocation that left nothing to
    export, so that nobody need wait for its spans, and when that has changed.
    """

    def __init__(self, settings: str, tell: Callable[[bytes], object]) -> None:
        self.settings: str | None = settings
        self.tell, self.is_told_silent = tell, False
        self.adot = '"adot": true' in settings
        self.has_others = False
        self.tracing: Tracing | None = None
        self.arrivals: ContextVar[list[Any] | None] = ContextVar("loom_arrivals", default=None)

    def hooks(self) -> dict[str, Callable[[ModuleType], object]]:
        """What to do after which module was imported."""
        return {
            "opentelemetry.trace": self.patch,
            "opentelemetry.metrics._internal": self.patch_meters,
            "strands.telemetry.tracer": self.load,
            "opentelemetry.sdk.trace": self.patch_providers,
            "botocore.client": self.patch_calls,
        }

    def load(self, module: ModuleType | None = None) -> Tracing | None:
        """What the package `tracing` makes of the settings, or None where the agent's OpenTelemetry does not fit."""
        if self.tracing is None and self.settings:
            settings, self.settings = self.settings, None
            try:
                self.tracing = load_package("tracing").Tracing(settings, self.arrivals, self.make_known)
            except Exception as failure:  # noqa: BLE001 (an agent must run, traced or not)
                sys.stderr.write(f"Loom: spans are not exported: {type(failure).__name__}: {failure}\n")
        return self.tracing

    def patch_providers(self, module: ModuleType) -> None:
        """Notice whether the agent has spans processed by anything but ours, which may export them."""
        add = module.TracerProvider.add_span_processor

        def add_and_note(provider: Any, span_processor: Any) -> None:
            if not type(span_processor).__module__.startswith("_loom_"):
                self.has_others = True
            add(provider, span_processor)

        module.TracerProvider.add_span_processor = add_and_note
        if self.adot:
            self.be_global(module)  # AWS's distribution, which the package asks for, does so before the agent runs

    def be_global(self, module: ModuleType) -> None:
        if (tracing := self.load()) is not None:
            tracing.become_global()

    def patch(self, module: ModuleType) -> None:
        """Notice who asks for a tracer and who sets a provider."""
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
        """Notice who asks for a meter and who sets a provider of meters."""
        proxy = module._ProxyMeterProvider
        get_meter, on_set = proxy.get_meter, proxy.on_set_meter_provider

        def get_recording_meter(provider: Any, name: str, *scope: Any, **more: Any) -> Any:
            meter = get_meter(provider, name, *scope, **more)
            # The SDK asks for one itself, for metrics of its own that nobody needs who has the spans.
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
        """Make boto3's calls within spans once the agent traces; boto3 alone is no reason to load OpenTelemetry."""
        call = module.BaseClient._make_api_call

        def call_within_span(client: Any, operation_name: Any, api_params: Any) -> Any:
            if self.tracing is None:
                return call(client, operation_name, api_params)
            return self.tracing.aws_calls.make(call, client, operation_name, api_params)

        module.BaseClient._make_api_call = call_within_span
        if self.adot and self.tracing is None:
            self.be_global(module)  # AWS's distribution would trace them

    def make_known(self) -> None:
        """The first span of all was made: what was told before holds no more."""
        if self.is_told_silent:
            self.is_told_silent = False
            self.tell(b"+")

    def be_quiet(self) -> None:
        """An invocation is over. Where it left nothing that could be exported, say so."""
        if not (self.is_told_silent or self.has_others or (self.tracing is not None and self.tracing.has_spans)):
            self.is_told_silent = True
            self.tell(b"-")

    def watch(self, server: Server) -> None:
        """Stand between the server and the agent's application, and let no span behind at the end."""
        if not server.config.loaded:
            server.config.load()
        app, shutdown = server.config.loaded_app, server.shutdown

        def answer(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
            return (
                self.serve(app, scope, receive, send)
                if scope.get("path") == "/invocations"
                else app(scope, receive, send)
            )

        async def shut_down_and_flush(sockets: list[socket.socket] | None = None) -> None:
            await shutdown(sockets)
            if self.tracing is not None:
                self.tracing.flush()

        server.config.loaded_app = answer
        server.shutdown = shut_down_and_flush  # before uvicorn raises SIGTERM again, which ends the process

    async def serve(self, app: Any, scope: Any, receive: Any, send: Any) -> None:
        arrival = [scope, time_ns(), None]
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
            self.be_quiet()


def load_package(name: str) -> Any:
    """The package beside this file, under a name that no agent's package has."""
    from _frozen_importlib import _load  # pyright: ignore
    from _frozen_importlib_external import spec_from_file_location  # pyright: ignore

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name, "__init__.py")
    return _load(spec_from_file_location(f"_loom_{name}", path))  # pyright: ignore
