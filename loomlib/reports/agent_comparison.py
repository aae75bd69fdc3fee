"""Differences in time and cost between compared agents: the parts of their traces, and the costs of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from loomlib.latency.breakdown_estimate import BreakdownEstimate, estimate_breakdown
from loomlib.latency.comparison import ComparisonResult
from loomlib.presentation.formats import milliseconds, money, number, plural
from loomlib.statistics import Estimate, compare_groups, estimate_paired_difference
from loomlib.telemetry.cost import total_cost
from loomlib.telemetry.traces import PARTS
from loomlib.telemetry.traces.part_styles import PART_NAMES
from loomlib.workbench import Agent
from loomlib.workbench.tracing import find_traces

from .displays import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.workbench.trace_view import TraceView


@dataclass(frozen=True, kw_only=True)
class AgentComparison:
    """A comparison of agents with the traces of its calls.

    Attributes:
        result: The study's result.
        views: The traces of each agent's answered calls, by label and block.
    """

    result: ComparisonResult
    views: Mapping[str, Mapping[int, TraceView]]

    @classmethod
    def of(cls, agents: Mapping[str, Agent], result: ComparisonResult) -> AgentComparison:
        """Fetch the traces of a study's calls.

        Args:
            agents: The agents by the labels of the study.
            result: The study's result.
        """
        views: dict[str, dict[int, TraceView]] = {}
        for label, agent in agents.items():
            blocks = {call.invocation_id: call.block for call in result.of(label) if call.is_done}
            stored = (agent.context.store.invocations.get(id) for id in blocks if id is not None)
            rows = [row for row in stored if row is not None]
            views[label] = {blocks[view.invocation_id]: view for view in find_traces(agent.context, agent.entry, rows)}
        return cls(result=result, views=views)

    @cached_property
    def inside(self) -> dict[str, BreakdownEstimate]:
        """Each agent's time by the parts of its traces; only calls with spans are included."""
        return {
            label: estimate_breakdown([view.breakdown() for view in self._views_with_spans(label).values()])
            for label in self.views
        }

    def differences(self, label: str) -> dict[str, Estimate]:
        """Return each part's median difference from the first agent's call in the same block, in milliseconds.

        Args:
            label: The other agent.
        """
        first, other = self._views_with_spans(self._first), self._views_with_spans(label)
        blocks = sorted(first.keys() & other.keys())
        return {
            part: estimate_paired_difference(
                [other[block].breakdown()[part].duration_ms for block in blocks],
                [first[block].breakdown()[part].duration_ms for block in blocks],
            )
            for part in PARTS
        }

    def cost_difference(self, label: str) -> Estimate:
        """Return the difference of the mean cost of a call; without a value if the cost of a call is unknown.

        Args:
            label: The other agent.
        """
        first, other = self._costs(self._first), self._costs(label)
        n = len(first) + len(other)
        calls = sum(len(self._views_with_spans(name)) for name in (self._first, label))
        if n < calls:
            reason = f"the cost of {number(calls - n, 0)} of {plural(calls, 'call')} is unknown"
            return Estimate.missing(reason, n=n, confidence=0.95, method="difference of means")
        return compare_groups(first, other, seed=self.result.design.seed).difference

    def table(self) -> pd.DataFrame:
        """Return one row for each part: its median by agent, and the differences from the first agent."""
        import pandas as pd

        others = [label for label in self.views if label != self._first]
        differences = {label: self.differences(label) for label in others}
        rows = [
            {
                "part": PART_NAMES[part],
                **{f"{label} p50 [95 %] ms": str(inside[part].p50_ms) for label, inside in self.inside.items()},
                **{f"{label} − {self._first} [95 %] ms": str(differences[label][part]) for label in others},
            }
            for part in PARTS
            if all(inside.n for inside in self.inside.values())
            and any(inside[part].pooled_share > 0 for inside in self.inside.values())
        ]
        return pd.DataFrame(rows or [{"part": "none: the calls of an agent have no spans"}]).set_index("part")

    def sentences(self) -> list[str]:
        """Return the parts in which the agents' times differ, and which agent costs less."""
        return [
            text for label in self.views if label != self._first for text in (self._parts(label), self._cost(label))
        ]

    def verdict(self) -> Verdict:
        """Return the verdict, with all values as JSON-ready values."""
        others = [label for label in self.views if label != self._first]
        parts = {label: {part: d.summary() for part, d in self.differences(label).items()} for label in others}
        return Verdict(
            title=self.result.title(),
            sentences=[*self.result.sentences(), *self.sentences()],
            summary={
                **self.result.summary(),
                "inside": {label: inside.summary() for label, inside in self.inside.items()},
                "part_differences_ms": parts,
                "cost_differences_usd": {label: self.cost_difference(label).summary() for label in others},
                "gates": [],
            },
        )

    def _parts(self, label: str) -> str:
        differences = self.differences(label)
        if all(difference.value is None for difference in differences.values()):
            counts = ", ".join(
                f"{plural(len(self._views_with_spans(name)), 'call')} of {name}" for name in (self._first, label)
            )
            return (
                f"The parts in which {label} and {self._first} differ are unknown: {counts} have spans, 6 are needed."
            )
        certain = [
            (part, difference.value, difference)
            for part, difference in differences.items()
            if difference.value is not None and difference.low is not None and difference.high is not None
            if difference.low > 0 or difference.high < 0
        ]
        if not certain:
            return f"The traces show no part of the time in which {label} differs from {self._first}."
        certain.sort(key=lambda item: -abs(item[1]))
        listed = ", ".join(
            f"{PART_NAMES[part]} {milliseconds(abs(value))} {'less' if value < 0 else 'more'} "
            f"[{difference.interval_text('ms')}]"
            for part, value, difference in certain[:3]
        )
        return f"Where {label} differs from {self._first}: {listed} (medians of the differences, 95 % intervals)."

    def _cost(self, label: str) -> str:
        difference = self.cost_difference(label)
        if difference.value is None or difference.low is None or difference.high is None:
            return f"The cost difference between {label} and {self._first} is unknown: {difference.reason}."
        if difference.low <= 0 <= difference.high:
            return f"The data do not say whether {label} or {self._first} costs less."
        word = "less" if difference.value < 0 else "more"
        currency = next((view.cost().currency for view in self._views_with_spans(label).values()), "USD")
        amount = money(1000 * abs(difference.value), currency)
        return f"1 000 calls of {label} cost {amount} {word} than those of {self._first}, at list prices."

    def _costs(self, label: str) -> list[float]:
        amounts = [total_cost([view.cost()]).amount for view in self._views_with_spans(label).values()]
        return [amount.value for amount in amounts if amount.state == "known" and amount.value is not None]

    def _views_with_spans(self, label: str) -> dict[int, TraceView]:
        return {block: view for block, view in self.views[label].items() if view.state in ("found", "partial")}

    @property
    def _first(self) -> str:
        return next(iter(self.views))
