"""What stands where OpenTelemetry's tracer that does nothing would, until the agent sets a provider of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import ProxyTracer, Span, Tracer


class StandIn(Tracer):
    """Starts spans with the tracer that `tracer()` makes once; `context_for` finds a parent for one without."""

    def __init__(self, tracer: Callable[[], Tracer], context_for: Callable[[Context | None], Context | None]) -> None:
        self._make_tracer, self._context_for = tracer, context_for
        self._made: Tracer | None = None

    def _tracer(self) -> Tracer:
        if self._made is None:
            self._made = self._make_tracer()
        return self._made

    def start_span(self, name: str, context: Context | None = None, *args: Any, **options: Any) -> Span:
        """As `Tracer.start_span`."""
        return self._tracer().start_span(name, self._context_for(context), *args, **options)

    def start_as_current_span(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, name: str, context: Context | None = None, *args: Any, **options: Any
    ) -> AbstractContextManager[Span]:
        """As `Tracer.start_as_current_span`."""
        return self._tracer().start_as_current_span(name, self._context_for(context), *args, **options)


def place(stand_in: StandIn, tracer: ProxyTracer) -> bool:
    """Put `stand_in` into `tracer`; False when that has no place for it."""
    if not hasattr(tracer, "_noop_tracer"):
        return False
    # A proxy asks for the global provider whenever it starts a span, and uses this one as long as there is none.
    tracer._noop_tracer = stand_in  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return True
