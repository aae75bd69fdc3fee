"""The early end of a latency study: when it has enough calls, and the intervals that hold after an early end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import number, percent
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import estimate_paired_difference, estimate_percentile, estimate_share
from loomlib.statistics.sequential import sequence_percentile, sequence_share
from loomlib.statistics.stopping import StoppingRule, tuned_for

from .design import StudyDesign
from .measurements import Measurement, of_scenario
from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyIntervals:
    """Estimates figures of a study by intervals that are valid for the way in which it ended.

    Attributes:
        planned: Calls of each scenario that the design plans, if the study ended early by its rule; None otherwise.
            Such a study ends when an interval is narrow, so only a confidence sequence is valid.
    """

    planned: int | None = None

    def percentile(self, values: Sequence[float], p: float) -> Estimate:
        """Estimate percentile `p` (0 to 1), in the unit of the values."""
        if self.planned is None:
            return estimate_percentile(values, p)
        return sequence_percentile(values, p, tuned_for=tuned_for(self.planned))

    def share(self, hits: int, n: int) -> Estimate:
        """Estimate the share `hits / n`."""
        return estimate_share(hits, n) if self.planned is None else sequence_share(hits, n)

    def paired_difference(self, first: Sequence[float], second: Sequence[float]) -> Estimate:
        """Estimate the median of the differences `first - second` of pairs."""
        if self.planned is None:
            return estimate_paired_difference(first, second)
        differences = [a - b for a, b in zip(first, second, strict=True)]
        return sequence_percentile(differences, 0.5, tuned_for=tuned_for(self.planned))


def stopping_reason(
    design: StudyDesign, rule: StoppingRule, read: Callable[[], Sequence[Measurement]], following: Measurement
) -> str | None:
    """Return a sentence with each scenario's interval when all of them are narrow enough; None to continue.

    Args:
        design: The study's design.
        rule: Its stopping rule.
        read: Reads the calls of the study; called only when a look is due.
        following: The next call of the plan.
    """
    scenarios = [scenario for scenario, count in design.counts.items() if count]
    # Looks follow from the position in the plan alone, so they are the same after a resumption.
    if following.position % len(scenarios) or not rule.is_look(following.position // len(scenarios)):
        return None
    calls = [call for call in read() if call.position < following.position]
    texts: list[str] = []
    for scenario in scenarios:
        estimate = _estimate(rule, of_scenario(calls, scenario), max(design.counts.values()))
        if not rule.is_met(estimate):
            return None
        texts.append(_estimate_text(rule, scenario, estimate))
    return (
        f"Stopped after {number(following.position, 0)} of {number(sum(design.counts.values()), 0)} planned calls, at "
        f"{design.until}{' in each scenario' if len(texts) > 1 else ''}: {'; '.join(texts)}. These 95 % intervals "
        "hold however often a study looks, like those of the table and of gates, but unlike those of parts from traces."
    )


def _estimate(rule: StoppingRule, calls: Sequence[Measurement], planned: int) -> Estimate:
    durations = [call.duration_ms for call in calls if call.is_done and call.duration_ms is not None]
    return rule.estimate(durations, sum(call.is_failed for call in calls), planned=planned)


def _estimate_text(rule: StoppingRule, scenario: Scenario, estimate: Estimate) -> str:
    if rule.p is None:
        return f"{scenario} failures {percent(estimate.value)} [{percent(estimate.low)}–{percent(estimate.high)}]"
    return f"{scenario} p{number(100 * rule.p)} {estimate.text('ms')}"
