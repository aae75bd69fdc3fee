"""The trace part of a display: conclusion, parts, causes, waterfall and spans."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError
from loomlib.presentation import formats
from loomlib.presentation.formats import milliseconds, money, number
from loomlib.telemetry.cost import CostLine
from loomlib.workbench.trace_look import PART_NAMES, share

from ..kit import Form, action
from ..kit.texts import well_formed
from ..panels.test.spans import COLD_START, bar_rows, row_details, waterfall_frame
from .display import Display, small_table
from .rows import FIRST, flat

if TYPE_CHECKING:
    from loomlib.workbench.trace_view import TraceView

_SPANS = (
    "name", "operation", "part", "start_ms", "duration_ms", "status", "tool", "model", "input_tokens", "output_tokens",
    "ttft_ms", "status_message", "marks", "span_id",
)  # fmt: skip
_PARTS = ("part", "time", "share", "", "from")
_COST_COLUMNS = ("item", "model", "quantity", "price", "cost", "price as of", "source of the price", "remark")
_MOST_CAUSES = 20


class Traced(Display):
    """A display with a trace, loaded at once or on demand."""

    _trace: TraceView | None = None

    def put_trace(self, trace: TraceView, source: str) -> dict[str, Any]:
        """Store the trace's tables; return what the view needs to draw it. `source` is Python that assigns `trace`."""
        self._trace, self._source = trace, source
        bars = bar_rows(trace)
        self.tables.put("bars", bars)
        breakdown = trace.breakdown()
        parts = [
            (
                PART_NAMES[part.name], milliseconds(part.duration_ms), share(part.share), part.certainty,
                " · ".join(filter(None, (part.derived_from, part.caveat))),
            )
            for part in breakdown.parts
        ]  # fmt: skip
        whole = ("the whole", milliseconds(breakdown.total_ms), "100 %", "", breakdown.whole)
        spans = flat(trace.spans())
        return {
            "heading": trace.title(),
            **waterfall_frame(trace, bars),
            "bars": {"rows": bars[:FIRST], "total": len(bars)},
            "spans": self.put_frame("spans", spans[list(_SPANS)], f"{source}\ntable = trace.spans()"),
            "where": small_table(_PARTS, [*parts, whole]) if breakdown.total_ns else None,
            "causes": [
                {
                    "title": well_formed(cause.title),
                    "stake": f"{milliseconds(cause.ms_at_stake)} at stake, {cause.confidence} confidence",
                    "evidence": well_formed("; ".join(item.text for item in cause.evidence)),
                    "try": "; ".join(cause.try_),
                }
                for cause in trace.findings().findings[:_MOST_CAUSES]
            ]
            if bars
            else [],
        }

    @action(lane="view")
    def span(self, form: Form) -> Mapping[str, Any]:
        """Return one row of the waterfall in full."""
        trace, row_id = self._known_trace(), form.text("id")
        details = row_details(trace, row_id)
        expression = "trace.breakdown()['cold_start']" if row_id == COLD_START else f"trace.trace.span({row_id!r})"
        self.show_code(f"{self._source}\n{expression}")
        return details

    @action(lane="view")
    def cost(self) -> Mapping[str, Any]:
        """Return the cost, item by item."""
        trace = self._known_trace()
        self.show_code(f"{self._source}\ntrace.cost().total, trace.costs()")
        cost = trace.cost()
        simulated = " · simulated cost, not billed" if cost.is_simulated else ""
        lines = small_table(_COST_COLUMNS, [_cost_row(line) for line in cost.lines])
        return {"sentence": f"model {cost.model} · runtime {cost.runtime}{simulated}", "lines": lines}

    def _known_trace(self) -> TraceView:
        if self._trace is None:
            raise LoomError("The trace is no longer loaded", on=self.title, try_="read it, or run the cell again")
        return self._trace

    def _drop(self) -> None:
        self._trace = None
        self.tables.put("bars", ())
        super()._drop()


def _cost_row(line: CostLine) -> tuple[str, ...]:
    return (
        line.item,
        well_formed(line.model or "–"),
        "unknown" if line.quantity is None else f"{number(line.quantity)} {line.unit}",
        "unknown" if line.price is None else f"{money(line.price)} per {line.per}",
        str(line.amount),
        formats.day(line.as_of) if line.as_of else "–",
        line.source or "–",
        line.why or "–",
    )
