"""The watched figures: latency, failures and cost of a scenario's calls; pass rates, scores and cost of evaluations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

from loomlib.presentation.formats import NumberKind, number
from loomlib.statistics.percentiles import needed_for, percentile

from ..scenarios import Scenario
from .nights import ANSWERS, ANSWERS_COST, CALLS, CALLS_COST, Group, Night

FAILURES: Final = "failures"
COST: Final = "cost"
PASS_RATE: Final = "pass_rate"  # noqa: S105  (a rate, no password)
SCORE: Final = "score"
_PERCENTILES: Final = {"p50": ("duration", 0.5), "p90": ("duration", 0.9),
                       "ttft_p50": ("first byte", 0.5), "ttft_p90": ("first byte", 0.9)}  # fmt: skip

SCENARIO_METRICS: Final = (*_PERCENTILES, FAILURES, COST)
"""Figures of a scenario: percentiles of whole answers, of first bytes, the share of failed calls, and the cost."""
EVAL_METRICS: Final = (PASS_RATE, SCORE, FAILURES, COST)
"""Figures of an eval set: by evaluator the pass rate or the mean score; the share of failed cases, and the cost."""
WATCH_METRICS: Final = (*_PERCENTILES, FAILURES, COST, PASS_RATE, SCORE)
"""Names of all figures."""


class WatchedFigure(Protocol):
    """A figure with one value per night."""

    @property
    def metric(self) -> str:
        """One of `WATCH_METRICS`."""
        ...

    @property
    def subject(self) -> str:
        """Its subject: a scenario, an evaluator, or an eval set."""
        ...

    @property
    def group(self) -> Group:
        """The key of its conditions in `Night.conditions`."""
        ...

    @property
    def kind(self) -> NumberKind:
        """What it measures: milliseconds, a share, US dollars, or a plain score."""
        ...

    @property
    def is_difference(self) -> bool:
        """Whether its changes are differences, as for shares and scores; those of durations and costs are ratios."""
        ...

    @property
    def is_higher_better(self) -> bool:
        """Whether a higher value is better."""
        ...

    @property
    def title(self) -> str:
        """Its name in a sentence, such as `p90 of warm calls`."""
        ...

    @property
    def missing(self) -> str:
        """Why a night has no value, for the sentence `3 nights had …`."""
        ...

    def value(self, night: Night) -> float | None:
        """Return its value for a night; None when there are too few calls or it is unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFigure:
    """A figure of the calls of one scenario in latency studies.

    Attributes:
        scenario: The scenario of its calls.
        metric: One of `SCENARIO_METRICS`.
    """

    scenario: Scenario
    metric: str

    def __post_init__(self) -> None:
        if self.metric not in SCENARIO_METRICS:
            raise ValueError(f"a scenario's figure must be one of {', '.join(SCENARIO_METRICS)}, not {self.metric!r}")

    @property
    def subject(self) -> str:
        """The scenario."""
        return self.scenario.value

    @property
    def group(self) -> Group:
        """The key of its conditions."""
        return (CALLS_COST if self.metric == COST else CALLS, self.scenario.value)

    @property
    def kind(self) -> NumberKind:
        """What it measures: milliseconds, a share, or dollars."""
        return "USD" if self.metric == COST else "share" if self.is_difference else "ms"

    @property
    def is_difference(self) -> bool:
        """Whether it is a share, which changes by points."""
        return self.metric == FAILURES

    @property
    def is_higher_better(self) -> bool:
        """False: lower is better for all of these figures."""
        return False

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        if self.metric == COST:
            return f"cost of {number(1000)} {self.scenario} calls"
        if self.is_difference:
            return f"share of failed {self.scenario} calls"
        quantity, p = _PERCENTILES[self.metric]
        return (
            f"p{number(100 * p, 0)} {'of' if quantity == 'duration' else 'to the first byte of'} {self.scenario} calls"
        )

    @property
    def missing(self) -> str:
        """Why a night has no value."""
        return "no known cost" if self.metric == COST else "too few answered calls"

    def value(self, night: Night) -> float | None:
        """Return the figure of a night's calls: milliseconds, a share, or the dollars of 1,000 calls."""
        if self.metric == COST:
            return _per_thousand(night, self.group)
        calls = night.of(self.scenario)
        if self.is_difference:
            ended = [call for call in calls if call.is_done or call.is_failed]
            return sum(call.is_failed for call in ended) / len(ended) if ended else None
        quantity, p = _PERCENTILES[self.metric]
        done_calls = [call for call in calls if call.is_done]
        times = [call.duration_ms if quantity == "duration" else call.ttft_ms for call in done_calls]
        positive_times = [time for time in times if time is not None and time > 0]
        return percentile(positive_times, p) if len(positive_times) >= needed_for(p) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalFigure:
    """A figure of the evaluations of one eval set.

    Attributes:
        eval_set: The set's name.
        evaluator: The evaluator of a pass rate or a score; empty for failures and cost.
        metric: One of `EVAL_METRICS`.
    """

    eval_set: str
    evaluator: str = ""
    metric: str

    def __post_init__(self) -> None:
        if self.metric not in EVAL_METRICS:
            raise ValueError(f"an evaluation's figure must be one of {', '.join(EVAL_METRICS)}, not {self.metric!r}")

    @property
    def subject(self) -> str:
        """The evaluator, else the set."""
        return self.evaluator or self.eval_set

    @property
    def group(self) -> Group:
        """The key of its conditions."""
        return (ANSWERS_COST if self.metric == COST else ANSWERS, self.eval_set, self.evaluator)

    @property
    def kind(self) -> NumberKind:
        """What it measures: a share, a score, or dollars."""
        return {COST: "USD", SCORE: "number"}.get(self.metric, "share")  # type: ignore[return-value]

    @property
    def is_difference(self) -> bool:
        """Shares and scores change by differences, costs by ratios."""
        return self.metric != COST

    @property
    def is_higher_better(self) -> bool:
        """Whether it is a pass rate or a score."""
        return self.metric in (PASS_RATE, SCORE)

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        names = {
            PASS_RATE: f"pass rate of {self.evaluator} on {self.eval_set}",
            SCORE: f"mean score of {self.evaluator} on {self.eval_set}",
            FAILURES: f"share of cases of {self.eval_set} without an answer",
            COST: f"cost of {number(1000)} answers to {self.eval_set}",
        }
        return names[self.metric]

    @property
    def missing(self) -> str:
        """Why a night has no value."""
        return "no known cost" if self.metric == COST else "no score"

    def value(self, night: Night) -> float | None:
        """Return the figure of a night's evaluations: a share, a score, or the dollars of 1,000 answers."""
        if self.metric == COST:
            return _per_thousand(night, self.group)
        mean = night.means.get((self.group, self.metric))
        return None if mean is None else mean.value


def level(figure: WatchedFigure, value: float) -> float:
    """Return a night's value on the scale on which changes add up and higher is worse: ratios as logarithms.

    Args:
        figure: The figure.
        value: Its value.
    """
    size = value if figure.is_difference else math.log(value)
    return -size if figure.is_higher_better else size


def _per_thousand(night: Night, group: Group) -> float | None:
    mean = night.means.get((group, COST))
    return None if mean is None or mean.value <= 0 else 1000 * mean.value
