"""A tracer in place of OpenTelemetry's no-op tracer, until the agent sets its own provider."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import ProxyTracer, Span, Tracer


class StandIn(Tracer):
    """A tracer that starts spans with the tracer that `tracer()` creates once.

    `context_for` returns the context for a span.
    """

    def __init__(self, tracer: Callable[[], Tracer], context_for: Callable[[Context | None], Context | None]) -> None:
        self._make_tracer, self._context_for = tracer, context_for
        self._created_tracer: Tracer | None = None

    def _tracer(self) -> Tracer:
        if self._created_tracer is None:
            self._created_tracer = self._make_tracer()
        return self._created_tracer

    def start_span(self, name: str, context: Context | None = None, *args: Any, **options: Any) -> Span:
        """Start a span; see `Tracer.start_span`."""
        return self._tracer().start_span(name, self._context_for(context), *args, **options)

    def start_as_current_span(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, name: str, context: Context | None = None, *args: Any, **options: Any
    ) -> AbstractContextManager[Span]:
        """Start a span as the current one; see `Tracer.start_as_current_span`."""
        return self._tracer().start_as_current_span(name, self._context_for(context), *args, **options)


def place(stand_in: StandIn, tracer: ProxyTracer) -> bool:
    """Put `stand_in` in place of `tracer`; return False when this version of OpenTelemetry does not allow it."""
    if not hasattr(tracer, "_noop_tracer"):
        return False
    # A proxy asks for the global provider whenever it starts a span, and uses this one as long as there is none.
    tracer._noop_tracer = stand_in  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return True
