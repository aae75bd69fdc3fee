"""What exactly is slower when a session is cold: each scenario's time by the parts of its calls' traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from loomlib.presentation.formats import milliseconds, number
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference
from loomlib.telemetry.traces import PARTS, Breakdown
from loomlib.telemetry.traces.part_styles import PART_COLOURS, PART_NAMES, PART_PATTERNS

from .inside import Inside, look_inside, spans_sentence
from .measurements import Measurement, of_scenario
from .scenarios import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_WORTH_TELLING = 0.02
"""Of the largest difference: smaller ones stand in the table."""
_WITH_SPANS = ("found", "partial")


class CallTrace(Protocol):
    """What is asked of a call's trace; `loomlib.workbench`'s `TraceView` is one."""

    @property
    def invocation_id(self) -> int:
        """The stored invocation."""
        ...

    @property
    def state(self) -> str:
        """How collecting ended: "found" and "partial" have spans."""
        ...

    def breakdown(self) -> Breakdown:
        """Where the call's time went."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioParts:
    """A study's calls by the parts of their traces. `extra` is what a cold call takes longer than its block's warm one.

    Only answered calls whose spans were found count; `states` counts how the search for each one's spans ended.
    """

    inside: Mapping[Scenario, Inside]
    extra: Mapping[str, Estimate]
    states: Mapping[str, int]
    title: str

    @classmethod
    def of(
        cls, calls: Sequence[Measurement], traces: Iterable[CallTrace], *, seed: int, title: str = ""
    ) -> ScenarioParts:
        """The parts of the answered `calls` whose traces are among `traces`."""
        by_id = {trace.invocation_id: trace for trace in traces}
        done = [each for each in calls if each.is_done and each.invocation_id in by_id]
        found = {
            each.position: by_id[each.invocation_id].breakdown()
            for each in done
            if each.invocation_id is not None and by_id[each.invocation_id].state in _WITH_SPANS
        }
        inside = {
            scenario: look_inside(mine, seed=seed)
            for scenario in Scenario
            if (mine := [found[each.position] for each in of_scenario(calls, scenario) if each.position in found])
        }
        states = Counter(by_id[each.invocation_id].state for each in done if each.invocation_id is not None)
        return cls(inside=inside, extra=_extra(done, found, seed), states=dict(states), title=title)

    def sentence(self) -> str:
        """Which part a cold call takes longer in, or why that is not known."""
        if not self.inside:
            return "No call of this study has spans, so nothing tells model, tools and agent apart."
        if not self.extra:
            return self.coverage()
        told = sorted(
            ((name, each) for name, each in self.extra.items() if each.value is not None and (each.low or 0) > 0),
            key=lambda item: -(item[1].value or 0),
        )
        told = [(name, each) for name, each in told if (each.value or 0) >= _WORTH_TELLING * (told[0][1].value or 0)]
        if not told:
            return "No part of a cold call is slower than a warm one's beyond doubt."
        parts = ", ".join(
            f"{PART_NAMES[name]} +{milliseconds(each.value or 0)} [{each.interval}]" for name, each in told
        )
        return f"What is slower when cold: {parts} (medians of the differences, 95 % intervals)."

    def coverage(self) -> str:
        """How many calls have spans."""
        known = sum(self.states.get(state, 0) for state in _WITH_SPANS)
        return spans_sentence(known, sum(self.states.values()), self.states)

    def table(self) -> pd.DataFrame:
        """One row a part that took time: each scenario's median milliseconds, and what a cold call adds."""
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
        """A stacked bar a scenario: the mean milliseconds of each part, which add up to the mean duration."""
        from loomlib.presentation.charts import Chart
        from loomlib.presentation.theme import styled

        scenarios = [scenario for scenario in reversed(Scenario) if scenario in self.inside]
        traces = [_bars(name, [(each, self.inside[each]) for each in scenarios]) for name in self._drawn()]
        return Chart(
            styled(
                traces,
                title="What exactly is slower when cold",
                subtitle=escape(self.title),
                empty="No call has spans.",
                xaxis={"title": {"text": "mean of the calls, ms"}, "rangemode": "tozero"},
                yaxis={"categoryorder": "array", "categoryarray": [each.value for each in scenarios]},
                barmode="stack",
                height=320,
                legend_y=-0.35,
            )
        )

    def summary(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""
        return {
            "states": dict(self.states),
            "sentence": self.sentence(),
            "scenarios": {scenario.value: inside.summary() for scenario, inside in self.inside.items()},
            "cold_minus_warm_ms": {name: each.summary() for name, each in self.extra.items()},
        }

    def _drawn(self) -> list[str]:
        return [name for name in PARTS if any(each[name].pooled_share > 0 for each in self.inside.values())]

    def _certainties(self, name: str) -> list[str]:
        return [inside[name].certainty() for inside in self.inside.values()]


def _extra(calls: Sequence[Measurement], found: Mapping[int, Breakdown], seed: int) -> dict[str, Estimate]:
    """Each part's paired differences between the cold and the warm call of a block; empty without pairs."""
    cold = {each.block: found[each.position] for each in of_scenario(calls, Scenario.COLD) if each.position in found}
    warm = {each.block: found[each.position] for each in of_scenario(calls, Scenario.WARM) if each.position in found}
    blocks = sorted(cold.keys() & warm.keys())
    if not blocks:
        return {}
    return {
        name: estimate_paired_difference(
            [cold[block][name].duration_ms for block in blocks],
            [warm[block][name].duration_ms for block in blocks],
            seed=seed,
        )
        for name in PARTS
    }


def _bars(name: str, scenarios: Sequence[tuple[Scenario, Inside]]) -> dict[str, Any]:
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
        "hovertemplate": f"%{{y}}: {label} %{{x:.1f}} ms<extra></extra>",
        "marker": {
            "color": PART_COLOURS[name],
            "pattern": {"shape": PART_PATTERNS[name], "fgcolor": "rgba(0,0,0,0.25)", "size": 6},
        },
    }
