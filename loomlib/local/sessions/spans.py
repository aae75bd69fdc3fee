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
    """The agent's spans, so far as it has any; `settings` is the content of the variable LOOM_SPANS."""

    def __init__(self, settings: str) -> None:
        self.settings: str | None = settings
        self.tracing: Tracing | None = None
        self.arrivals: ContextVar[list[Any] | None] = ContextVar("loom_arrivals", default=None)

    def hooks(self) -> dict[str, Callable[[ModuleType], object]]:
        """What to do after which module was imported."""
        hooks: dict[str, Callable[[ModuleType], object]] = {
            "opentelemetry.trace": self.patch,
            "strands.telemetry.tracer": self.load,
        }
        if self.settings and '"adot": true' in self.settings:
            # AWS's distribution, which the package asks for, sets a provider before the agent runs.
            hooks["opentelemetry.sdk.trace"] = self.be_global
        return hooks

    def load(self, module: ModuleType | None = None) -> Tracing | None:
        """What the package `tracing` makes of the settings, or None where the agent's OpenTelemetry does not fit."""
        if self.tracing is None and self.settings:
            settings, self.settings = self.settings, None
            try:
                self.tracing = load_package("tracing").Tracing(settings, self.arrivals)
            except Exception as failure:  # noqa: BLE001 (an agent must run, traced or not)
                sys.stderr.write(f"Loom: spans are not exported: {type(failure).__name__}: {failure}\n")
        return self.tracing

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

    def watch(self, server: Server) -> None:
        """Stand between the server and the agent's application, and let no span behind at the end."""
        if not self.settings and self.tracing is None:
            return
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
        if self.tracing is not None:
            await self.tracing.serve(app, scope, receive, send)
        else:
            try:
                await app(scope, receive, send)
            finally:
                if self.tracing is not None:
                    self.tracing.end(arrival)


def load_package(name: str) -> Any:
    """The package beside this file, under a name that no agent's package has."""
    from _frozen_importlib import _load  # pyright: ignore
    from _frozen_importlib_external import spec_from_file_location  # pyright: ignore

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name, "__init__.py")
    return _load(spec_from_file_location(f"_loom_{name}", path))  # pyright: ignore
