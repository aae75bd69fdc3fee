"""Many traces at once: one row an invocation, and what is true of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from ..telemetry import cost, diagnosis, traces
from .cards import card, milliseconds
from .frames import rows_frame
from .trace_look import PART_NAMES, share
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

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from .trace_view import TraceView

_MOST_BARS = 50


class Traces(Sequence["TraceView"]):
    """The traces of several invocations of one agent, newest first; made by `Agent.traces()`.

    agent.telemetry.traces(last=100).parts()
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
        """How many traces ended in which state."""
        return dict(Counter(view.state for view in self._views))

    def parts(self) -> pd.DataFrame:
        """One row an invocation: its state, its duration, and the milliseconds of each part."""
        return rows_frame([_parts_row(view) for view in self._views])

    def spans(self) -> pd.DataFrame:
        """One row a span, with the invocation that it belongs to."""
        return self._rows(lambda view: view.trace.table(), SPAN_COLUMNS)

    def model_calls(self) -> pd.DataFrame:
        """One row a model call."""
        return self._rows(lambda view: [model_call_row(call) for call in view.case.calls], MODEL_CALL_COLUMNS)

    def tool_calls(self) -> pd.DataFrame:
        """One row a run of a tool."""
        return self._rows(lambda view: [tool_call_row(call) for call in view.case.tools], TOOL_CALL_COLUMNS)

    def cycles(self) -> pd.DataFrame:
        """One row a turn of the agent's loop."""
        return self._rows(lambda view: [cycle_row(each) for each in view.case.cycles], CYCLE_COLUMNS)

    def findings(self) -> diagnosis.Diagnosis:
        """Why these invocations took their time, summed up by cause."""
        return diagnosis.diagnose_study(
            [view.case for view in self._views], rules=self._views[0].rules if self._views else None
        )

    def causes(self) -> pd.DataFrame:
        """One row a finding, the costliest first."""
        return rows_frame(self.findings().table(), CAUSE_COLUMNS)

    def cost(
        self, *, prices: cost.PriceTable | None = None, priced_as: str | None = None, count_missing: bool = False
    ) -> cost.CostTotal:
        """What these invocations cost together (see `TraceView.cost`)."""
        return cost.total_cost(
            view.cost(prices=prices, priced_as=priced_as, count_missing=count_missing) for view in self._views
        )

    def costs(self) -> pd.DataFrame:
        """One row an invocation: what it cost, its tokens, and what of it is unknown."""
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
        """Each part's share of all these invocations' time together, of those whose spans were found."""
        known = [view.breakdown() for view in self._views if view.state in ("found", "partial")]
        whole = sum(each.total_ns for each in known)
        return {name: sum(each[name].duration_ns for each in known) / whole if whole else 0.0 for name in traces.PARTS}

    def figure(self) -> go.Figure:
        """A stacked bar for each of the newest invocations: where its time went."""
        from ..telemetry.traces.figures import draw_breakdown

        shown = [(f"invocation {view.invocation_id}", view.breakdown()) for view in self._views[:_MOST_BARS]]
        return draw_breakdown(shown, title=f"Where the time went: {self._agent_name}, {len(shown)} newest invocations")

    def sentence(self) -> str:
        """How many were found, and where their time went."""
        if not self._views:
            return 'No invocation is stored. agent.invoke("…") makes one.'
        known = [view for view in self._views if view.state in ("found", "partial")]
        told = f"{len(known):,} of {len(self._views):,} invocations have spans"
        if not known:
            return f"{told}. {self._views[0].sentences()[-1]}"
        whole_ms = sum(view.breakdown().total_ms for view in known)
        parts = sorted(((value, name) for name, value in self.shares().items() if value), reverse=True)
        said = ", ".join(f"{PART_NAMES[name]} {share(value)}" for value, name in parts)
        return f"{told}. Of {milliseconds(whole_ms)} together: {said}."

    def __repr__(self) -> str:
        return f"<Traces of {self._agent_name}: {self.sentence()}>"

    def _repr_html_(self) -> str:
        states = ", ".join(f"{count} {state}" for state, count in self.states().items())
        facts = [("states", states), ("a row each", ".parts()"), ("why", ".causes()")]
        shown = card(self._agent_name, labels=self._labels, note=self.sentence(), facts=facts)
        frame = self.parts()
        if frame.empty:
            return shown
        head = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>"
            for row in frame.head(50).itertuples(index=False)
        )
        return f'{shown}<div class="mathjax_ignore" style="overflow-x:auto"><table><tr>{head}</tr>{rows}</table></div>'

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
    found = view.breakdown()
    return {
        "invocation_id": view.invocation_id,
        "started_at": view.started_at,
        "session_id": view.session_id,
        "state": view.state,
        "cold": None if view.client is None else view.client.is_cold,
        "total_ms": found.total_ms,
        **{f"{name}_ms": found[name].duration_ms for name in traces.PARTS},
        "spans": len(view.trace.spans),
        "marks": ", ".join(sorted(found.marks)),
    }


def _cell(value: Any) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
