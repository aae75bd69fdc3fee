"""A trace: a waterfall with span details, the spans as a table, where the time went and why."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .traced import Traced


class TraceDisplay(Traced):
    """The trace of one invocation."""

    called: ClassVar[str] = "Trace"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "trace.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (*Traced.parts, ("loom_widgets.displays", "spans.js"))

    def fill(self) -> Mapping[str, Any]:
        """Return everything except costs."""
        trace = self.value
        self.title = f"Trace of {trace.agent_name}"
        code = f"trace = bench.agent({trace.agent_name!r}).history.get({trace.invocation_id}).trace()"
        self.show_code(code)
        return {"trace": self.put_trace(trace, code)}
