"""Traces of several invocations: one row per invocation, and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..presentation.formats import milliseconds, percent, plural
from ..presentation.html import card, table
from ..telemetry import cost, diagnosis, traces
from ..telemetry.traces.figures import draw_breakdown
from .frames import rows_frame
from .trace_look import PART_NAMES
from .trace_rows import (
    CAUSE_COLUMNS,
    CYCLE_COLUMNS,
    MODEL_CALL_COLUMNS,
    SPAN_COLUMNS,
    TOOL_CALL_COLUMNS,
    cycle_row,
    model_call_row,
    tool_call_row,
)
from .trace_view import TraceView

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


_MOST_BARS = 50
_SHOWN = 50


class Traces(Sequence["TraceView"]):
    """Traces of several invocations of one agent, newest first; returned by `agent.telemetry.traces()`.

    Examples:
        >>> agent.telemetry.traces(last=100).parts()
    """

    def __init__(self, views: Sequence[TraceView], *, agent_name: str, labels: Sequence[str] = ()) -> None:
        self._views, self._agent_name, self._labels = tuple(views), agent_name, tuple(labels)

    @overload
    def __getitem__(self, place: int) -> TraceView: ...
    @overload
    def __getitem__(self, place: slice) -> Traces: ...
    def __getitem__(self, place: int | slice) -> TraceView | Traces:
        if isinstance(place, slice):
            return Traces(self._views[place], agent_name=self._agent_name, labels=self._labels)
        return self._views[place]

    def __len__(self) -> int:
        return len(self._views)

    def __iter__(self) -> Iterator[TraceView]:
        return iter(self._views)

    def states(self) -> Mapping[str, int]:
        """Return how many traces are in each state."""
        return dict(Counter(view.state for view in self._views))

    def parts(self) -> pd.DataFrame:
        """Return one row per invocation: state, duration, and the milliseconds of each part."""
        return rows_frame([_parts_row(view) for view in self._views])

    def spans(self) -> pd.DataFrame:
        """Return one row per span, with its invocation."""
        return self._rows(lambda view: view.trace.table(), SPAN_COLUMNS)

    def model_calls(self) -> pd.DataFrame:
        """Return one row per model call."""
        return self._rows(lambda view: [model_call_row(call) for call in view.case.calls], MODEL_CALL_COLUMNS)

    def tool_calls(self) -> pd.DataFrame:
        """Return one row per tool call."""
        return self._rows(lambda view: [tool_call_row(call) for call in view.case.tools], TOOL_CALL_COLUMNS)

    def cycles(self) -> pd.DataFrame:
        """Return one row per cycle of the agent's loop."""
        return self._rows(lambda view: [cycle_row(cycle) for cycle in view.case.cycles], CYCLE_COLUMNS)

    def findings(self) -> diagnosis.Diagnosis:
        """Return the causes of these invocations' durations, summed by cause."""
        return diagnosis.diagnose_study(
            [view.case for view in self._views], rules=self._views[0].rules if self._views else None
        )

    def causes(self) -> pd.DataFrame:
        """Return one row per finding, the costliest first."""
        return rows_frame(self.findings().table(), CAUSE_COLUMNS)

    def cost(
        self, *, prices: cost.PriceTable | None = None, priced_as: str | None = None, count_missing: bool = False
    ) -> cost.CostTotal:
        """Return the total cost of these invocations (see `TraceView.cost`).

        Args:
            prices: The prices; the workbench's by default.
            priced_as: A model whose prices to use instead.
            count_missing: Let Bedrock count the tokens of calls whose spans do not state them.
        """
        return cost.total_cost(
            view.cost(prices=prices, priced_as=priced_as, count_missing=count_missing) for view in self._views
        )

    def costs(self) -> pd.DataFrame:
        """Return one row per invocation: cost, tokens, and what is unknown."""
        return rows_frame(
            [
                {
                    "invocation_id": view.invocation_id,
                    "started_at": view.started_at,
                    "session_id": view.session_id,
                    **cost.total_cost([view.cost()]).row(),
                }
                for view in self._views
            ]
        )

    def shares(self) -> Mapping[str, float]:
        """Return each part's share of the total time of the invocations whose spans were found."""
        breakdowns = [view.breakdown() for view in self._views if view.state in ("found", "partial")]
        whole = sum(breakdown.total_ns for breakdown in breakdowns)
        return {
            name: sum(breakdown[name].duration_ns for breakdown in breakdowns) / whole if whole else 0.0
            for name in traces.PARTS
        }

    def figure(self) -> go.Figure:
        """Return a stacked bar chart of the newest invocations' time by part."""
        bars = [(f"invocation {view.invocation_id}", view.breakdown()) for view in self._views[:_MOST_BARS]]
        return draw_breakdown(bars, title=f"Where the time went: {self._agent_name}, {len(bars)} newest invocations")

    def sentence(self) -> str:
        """Return how many traces were found, and where the time went."""
        if not self._views:
            return 'No invocation is stored. agent.invoke("…") creates one.'
        found_views = [view for view in self._views if view.state in ("found", "partial")]
        counted = f"{len(found_views)} of {plural(len(self._views), 'invocation')} have spans"
        if not found_views:
            return f"{counted}. {self._views[0].sentences()[-1]}"
        whole_ms = sum(view.breakdown().total_ms for view in found_views)
        parts = sorted(((value, name) for name, value in self.shares().items() if value), reverse=True)
        parts_text = ", ".join(f"{PART_NAMES[name]} {percent(value)}" for value, name in parts)
        return f"{counted}. Of {milliseconds(whole_ms)} in total: {parts_text}."

    def __repr__(self) -> str:
        return f"<Traces of {self._agent_name}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.states().items())
        facts = [("states", states), ("a row each", ".parts()"), ("why", ".causes()")]
        frame = self.parts()
        rows = list(frame.head(_SHOWN).itertuples(index=False, name=None))
        parts = table([str(name) for name in frame.columns], rows, more=len(frame) - len(rows)) if rows else ""
        return card(self._agent_name, labels=self._labels, note=self.sentence(), facts=facts, body=parts)

    def _rows(
        self, rows_of: Callable[[TraceView], Sequence[Mapping[str, Any]]], columns: Sequence[str]
    ) -> pd.DataFrame:
        rows = [
            {"invocation_id": view.invocation_id, "session_id": view.session_id, **row}
            for view in self._views
            for row in rows_of(view)
        ]
        return rows_frame(rows, tuple(dict.fromkeys(("invocation_id", "session_id", *columns))))


def _parts_row(view: TraceView) -> dict[str, Any]:
    breakdown = view.breakdown()
    return {
        "invocation_id": view.invocation_id,
        "started_at": view.started_at,
        "session_id": view.session_id,
        "state": view.state,
        "cold": None if view.client is None else view.client.is_cold,
        "total_ms": breakdown.total_ms,
        **{f"{name}_ms": breakdown[name].duration_ms for name in traces.PARTS},
        "spans": len(view.trace.spans),
        "marks": ", ".join(sorted(breakdown.marks)),
    }
