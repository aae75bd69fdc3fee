"""Parts that are slower in a cold session: each scenario's time by the parts of its calls' traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from loomlib.presentation.formats import milliseconds, number, plural
from loomlib.presentation.theme import styled
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference
from loomlib.telemetry.traces import PARTS, Breakdown
from loomlib.telemetry.traces.part_styles import PART_COLOURS, PART_NAMES, PART_PATTERNS

from .breakdown_estimate import BreakdownEstimate, estimate_breakdown, spans_sentence
from .measurements import Measurement, of_scenario
from .scenarios import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_WORTH_NAMING = 0.02
"""Share of the largest difference; smaller ones are only in the table."""
_WITH_SPANS = ("found", "partial")


class CallTrace(Protocol):
    """A call's trace; the workbench's `TraceView` is one."""

    @property
    def invocation_id(self) -> int:
        """The stored invocation."""
        ...

    @property
    def state(self) -> str:
        """How collecting its spans ended: "found" and "partial" have some."""
        ...

    def breakdown(self) -> Breakdown:
        """Return the breakdown of the call's time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioParts:
    """Parts of the time of a study's calls, by scenario. Only answered calls whose spans were found count.

    Attributes:
        inside: The parts of each scenario's calls.
        extra: Median paired difference between the cold and the warm call of a block, by part, in milliseconds.
        states: How collecting the spans ended, by call.
        title: Subtitle of the chart, with the study's labels.
    """

    inside: Mapping[Scenario, BreakdownEstimate]
    extra: Mapping[str, Estimate]
    states: Mapping[str, int]
    title: str

    def sentence(self) -> str:
        """Return which parts of a cold call take longer, or why that is not known."""
        if not self.inside:
            return "No call of this study has spans, so model, tools and agent cannot be separated."
        if not self.extra:
            return self.coverage()
        if all(extra.value is None for extra in self.extra.values()):
            first = next(iter(self.extra.values()))
            return (
                f"Which parts of a cold call are slower is unknown: {plural(first.n, 'pair')} of a cold and a warm "
                f"call {'has' if first.n == 1 else 'have'} spans, {first.needed_n} are needed."
            )
        slower = sorted(
            ((name, extra.value, extra) for name, extra in self.extra.items() if extra.value and (extra.low or 0) > 0),
            key=lambda item: -item[1],
        )
        if not slower:
            return "No part of a cold call is significantly slower than that of a warm one."
        parts = ", ".join(
            f"{PART_NAMES[name]} +{milliseconds(value)} [{extra.interval_text('ms')}]"
            for name, value, extra in slower
            if value >= _WORTH_NAMING * slower[0][1]
        )
        return f"What is slower when cold: {parts} (medians of the differences, 95 % intervals)."

    def coverage(self) -> str:
        """Return how many calls have spans."""
        calls_with_spans = sum(self.states.get(state, 0) for state in _WITH_SPANS)
        return spans_sentence(calls_with_spans, sum(self.states.values()), self.states)

    def table(self) -> pd.DataFrame:
        """Return one row for each part that took time: median milliseconds by scenario, and what a cold call adds."""
        import pandas as pd

        rows: list[dict[str, str]] = []
        for name in self._drawn():
            row = {"part": PART_NAMES[name]}
            for scenario, inside in self.inside.items():
                row[f"{scenario} p50 [95 %] ms (n {inside.n})"] = str(inside[name].p50_ms)
            if self.extra:
                row["cold − warm [95 %] ms"] = str(self.extra[name]) if name in self.extra else "–"
            row["how it is known"] = "; ".join(
                dict.fromkeys(
                    inside[name].certainty()
                    if len(set(self._certainties(name))) == 1
                    else f"{scenario}: {inside[name].certainty()}"
                    for scenario, inside in self.inside.items()
                )
            )
            rows.append(row)
        return pd.DataFrame(rows).set_index("part") if rows else pd.DataFrame({"part": []}).set_index("part")

    def figure(self) -> go.Figure:
        """Return a stacked bar for each scenario: mean milliseconds of the parts, which add up to the mean duration."""
        from loomlib.presentation.charts import Chart

        scenarios = [scenario for scenario in reversed(Scenario) if scenario in self.inside]
        traces = [_bars(name, [(scenario, self.inside[scenario]) for scenario in scenarios]) for name in self._drawn()]
        return Chart(
            styled(
                traces,
                title="What is slower in a cold session",
                subtitle=escape(self.title),
                empty="No call has spans.",
                xaxis={"title": {"text": "mean of the calls, ms"}, "rangemode": "tozero"},
                yaxis={"categoryorder": "array", "categoryarray": [scenario.value for scenario in scenarios]},
                barmode="stack",
                height=320,
                legend_y=-0.35,
            )
        )

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "states": dict(self.states),
            "sentence": self.sentence(),
            "scenarios": {scenario.value: inside.summary() for scenario, inside in self.inside.items()},
            "cold_minus_warm_ms": {name: extra.summary() for name, extra in self.extra.items()},
        }

    def _drawn(self) -> list[str]:
        return [name for name in PARTS if any(inside[name].pooled_share > 0 for inside in self.inside.values())]

    def _certainties(self, name: str) -> list[str]:
        return [inside[name].certainty() for inside in self.inside.values()]


def split_scenarios(calls: Sequence[Measurement], traces: Iterable[CallTrace], *, title: str = "") -> ScenarioParts:
    """Divide each scenario's time into the parts of its calls' traces.

    Args:
        calls: The study's calls.
        traces: Traces; those of other calls are ignored.
        title: Subtitle of the chart.
    """
    by_id = {trace.invocation_id: trace for trace in traces}
    traced_calls = [(call, by_id[call.invocation_id]) for call in calls if call.is_done and call.invocation_id in by_id]
    breakdowns = {call.position: trace.breakdown() for call, trace in traced_calls if trace.state in _WITH_SPANS}
    inside = {
        scenario: estimate_breakdown(scenario_breakdowns)
        for scenario in Scenario
        if (
            scenario_breakdowns := [
                breakdowns[call.position] for call in of_scenario(calls, scenario) if call.position in breakdowns
            ]
        )
    }
    return ScenarioParts(
        inside=inside,
        extra=_extra([call for call, _ in traced_calls], breakdowns),
        states=dict(Counter(trace.state for _, trace in traced_calls)),
        title=title,
    )


def _extra(calls: Sequence[Measurement], breakdowns: Mapping[int, Breakdown]) -> dict[str, Estimate]:
    """Return each part's paired differences between cold and warm calls of a block; empty without pairs."""
    cold = {
        call.block: breakdowns[call.position]
        for call in of_scenario(calls, Scenario.COLD)
        if call.position in breakdowns
    }
    warm = {
        call.block: breakdowns[call.position]
        for call in of_scenario(calls, Scenario.WARM)
        if call.position in breakdowns
    }
    blocks = sorted(cold.keys() & warm.keys())
    if not blocks:
        return {}
    return {
        name: estimate_paired_difference(
            [cold[block][name].duration_ms for block in blocks],
            [warm[block][name].duration_ms for block in blocks],
        )
        for name in PARTS
    }


def _bars(name: str, scenarios: Sequence[tuple[Scenario, BreakdownEstimate]]) -> dict[str, Any]:
    label = PART_NAMES[name]
    return {
        "type": "bar",
        "orientation": "h",
        "name": label,
        "x": [inside[name].mean_ms for _, inside in scenarios],
        "y": [scenario.value for scenario, _ in scenarios],
        "text": [number(inside[name].mean_ms) if inside[name].pooled_share >= 0.06 else "" for _, inside in scenarios],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "customdata": [[milliseconds(inside[name].mean_ms)] for _, inside in scenarios],
        "hovertemplate": f"%{{y}}: {label} %{{customdata[0]}}<extra></extra>",
        "marker": {
            "color": PART_COLOURS[name],
            "pattern": {"shape": PART_PATTERNS[name], "fgcolor": "rgba(0,0,0,0.25)", "size": 6},
        },
    }
