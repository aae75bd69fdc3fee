"""A service level objective, and whether a load step meets it: holds, does not hold, or not enough calls to decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from loomlib.statistics import CONFIDENCE, SMALLEST_N, Estimate, decide_at_least, decide_at_most, estimate_mean
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR

from .batches import estimate_batch_percentile, estimate_batch_share
from .calls import LoadCall
from .columns import BoolArray, CallColumns, FloatArray, call_columns
from .objectives import (
    DURATION,
    TTFT,
    CostObjective,
    ErrorObjective,
    LatencyObjective,
    Objective,
)
from .slo_text import parse_objectives

HOLDS: Final = "holds"
DOES_NOT_HOLD: Final = "does not hold"
NOT_ENOUGH_CALLS: Final = "not enough calls"
_OUTCOMES: Final = {PASSED: HOLDS, MISSED: DOES_NOT_HOLD, UNCLEAR: NOT_ENOUGH_CALLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveResult:
    """The result of a step for one objective.

    Attributes:
        objective: The objective.
        outcome: "holds", "does not hold" or "not enough calls".
        figure: The percentile, share of errors or mean cost, with its interval: ms, share, US dollars.
        share: The share of calls within a latency's limit, or of errors, by which it was decided; None for cost.
        needed_n: About how many calls would decide it; None when it is decided or unknown.
    """

    objective: Objective
    outcome: str
    figure: Estimate
    share: Estimate | None = None
    needed_n: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SloResult:
    """Whether a step meets an SLO: it must meet every objective, so no correction for multiple comparisons is needed.

    (An intersection-union test: Berger, Technometrics 24:4, 1982.)

    Attributes:
        outcome: "holds", "does not hold" or "not enough calls".
        objectives: The result of each objective, in the SLO's order.
        n: Number of calls whose end is known.
    """

    outcome: str
    objectives: tuple[ObjectiveResult, ...]
    n: int

    @property
    def holds(self) -> bool:
        """Whether it is certain that the SLO holds."""
        return self.outcome == HOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """A service level objective: limits on latency, errors and cost that a service must meet.

    Examples:
        >>> slo = Slo.parse("p90 TTFT < 800 ms, errors < 1 %, cost < $0.02")
        >>> slo.objectives[0].limit_ms
        800.0

    Attributes:
        objectives: The objectives, one or more.
    """

    objectives: tuple[Objective, ...]

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("an SLO needs at least one objective")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the SLO that a text describes; the grammar is in `loomlib.latency.load.slo_text`.

        Args:
            text: Such as `p90 TTFT < 800 ms, errors < 1 %, cost < $0.02`.

        Raises:
            InvalidSloError: The text is not an SLO; the message says why, where, and what to try.
        """
        return cls(objectives=parse_objectives(text))

    @property
    def text(self) -> str:
        """The SLO as text that `parse` reads."""
        return ", ".join(objective.text for objective in self.objectives)

    @property
    def needs_cost(self) -> bool:
        """Whether it limits the cost, so that the cost of calls must be known."""
        return any(isinstance(objective, CostObjective) for objective in self.objectives)

    @property
    def longest_limit_ms(self) -> float:
        """The largest limit on a latency in milliseconds; 0 without one."""
        return max((one.limit_ms for one in self.objectives if isinstance(one, LatencyObjective)), default=0.0)

    def is_met_by(self, call: LoadCall, cost_usd: float | None = None) -> bool:
        """Whether one call is complete and within every limit on a single call, so that it counts towards goodput.

        (As aiperf and DistServe define it: Zhong et al., OSDI 2024.)

        Args:
            call: The call.
            cost_usd: What it cost; None when it is unknown; the limit on cost is then ignored.
        """
        if not call.is_complete:
            return False
        for objective in self.objectives:
            if isinstance(objective, LatencyObjective) and not objective.is_met_by(call):
                return False
            if isinstance(objective, CostObjective) and cost_usd is not None and cost_usd > objective.limit_usd:
                return False
        return True

    def good_calls(self, columns: CallColumns, costs_usd: Mapping[int, float] | None = None) -> BoolArray:
        """Return the result of `is_met_by` for each call of a step.

        Args:
            columns: The calls.
            costs_usd: The cost of calls by index.
        """
        good = columns.is_complete.copy()
        for objective in self.objectives:
            if isinstance(objective, LatencyObjective):
                good &= _latencies(objective, columns) <= objective.limit_ms
            elif isinstance(objective, CostObjective) and costs_usd:
                costs = np.array([costs_usd.get(index, 0.0) for index in columns.index.tolist()])
                good &= costs <= objective.limit_usd
        return good

    def evaluate(
        self,
        calls: Iterable[LoadCall] | CallColumns,
        *,
        costs_usd: Mapping[int, float] | None = None,
        confidence: float = CONFIDENCE,
    ) -> SloResult:
        """Decide whether a step holds the SLO.

        A failed call counts as one beyond every limit on latency. Calls that were never sent, or whose end is unknown,
        are left out.

        Args:
            calls: The calls of the step, or their columns.
            costs_usd: The cost in US dollars of calls by their index, as far as it is known; failed calls cost, too.
            confidence: Confidence level of the intervals that decide.
        """
        columns = calls if isinstance(calls, CallColumns) else call_columns(calls)
        results: list[ObjectiveResult] = []
        for objective in self.objectives:
            if isinstance(objective, LatencyObjective):
                results.append(_latency_result(objective, columns, confidence))
            elif isinstance(objective, ErrorObjective):
                results.append(_error_result(objective, columns, confidence))
            else:
                results.append(_cost_result(objective, columns, costs_usd or {}, confidence))
        outcomes = {result.outcome for result in results}
        worst = next(outcome for outcome in (DOES_NOT_HOLD, NOT_ENOUGH_CALLS, HOLDS) if outcome in outcomes)
        return SloResult(outcome=worst, objectives=tuple(results), n=columns.n)


def exceeding(objective: LatencyObjective | ErrorObjective, columns: CallColumns) -> tuple[BoolArray, float]:
    """Return which calls are beyond an objective's limit, and the largest share of them that is allowed.

    Args:
        objective: The objective.
        columns: The calls.
    """
    if isinstance(objective, ErrorObjective):
        return ~columns.is_complete, objective.limit
    return ~(_latencies(objective, columns) <= objective.limit_ms), 1 - objective.p


def _latencies(objective: LatencyObjective, columns: CallColumns) -> FloatArray:
    return {TTFT: columns.ttft_ms, DURATION: columns.duration_ms}.get(objective.metric, columns.gap_ms)


def _latency_result(objective: LatencyObjective, columns: CallColumns, confidence: float) -> ObjectiveResult:
    beyond, _ = exceeding(objective, columns)
    share = estimate_batch_share(~beyond, confidence=confidence)
    decision = decide_at_least(share, objective.p, ())
    values = _latencies(objective, columns)
    return ObjectiveResult(
        objective=objective,
        outcome=_OUTCOMES[decision.outcome],
        figure=estimate_batch_percentile(values[~np.isnan(values)], objective.p, confidence=confidence),
        share=share,
        needed_n=decision.needed_n,
    )


def _error_result(objective: ErrorObjective, columns: CallColumns, confidence: float) -> ObjectiveResult:
    beyond, limit = exceeding(objective, columns)
    share = estimate_batch_share(beyond, confidence=confidence)
    decision = decide_at_most(share, limit, ())
    return ObjectiveResult(
        objective=objective,
        outcome=_OUTCOMES[decision.outcome],
        figure=share,
        share=share,
        needed_n=decision.needed_n,
    )


def _cost_result(
    objective: CostObjective, columns: CallColumns, costs_usd: Mapping[int, float], confidence: float
) -> ObjectiveResult:
    known_costs = [costs_usd[index] for index in columns.index.tolist() if index in costs_usd]
    figure = estimate_mean(known_costs, confidence=confidence, bounds=None)
    decision = decide_at_most(figure, objective.limit_usd, known_costs)
    outcome = _OUTCOMES[decision.outcome]
    if figure.value is None and figure.n >= SMALLEST_N and max(known_costs) <= objective.limit_usd:
        outcome = HOLDS  # costs that are all equal have a mean without an interval
    return ObjectiveResult(objective=objective, outcome=outcome, figure=figure, needed_n=decision.needed_n)
