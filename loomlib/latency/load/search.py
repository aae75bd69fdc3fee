"""The highest load at which an SLO is met, found in a limited time although every measurement is noisy.

1. Bracket: short steps at doubling loads until one is beyond the SLO (downwards from the first load when that one
already is).
2. Approach: steps between the two loads, moved towards the side that the last step points to. A short step can err, so
   the bracket may be left again (bisection with noisy responses: Waeber, Frazier & Henderson, SIAM Journal on Control
   and Optimization 51:3, 2013).
3. Fit: the share of calls beyond the limit is a line of its logit over the load (`crossing`), and the next step is made
   where the line crosses the allowed share, a little to both sides in turn so that its slope is known: sequential
   estimation with a logit (Wu, Journal of the American Statistical Association 80:392, 1985). The load of a step is
   that of its actual arrivals. The search ends when five or more steps give the crossing an interval within the
   tolerance, or when the time is up.

Every step begins with an idle service, so its first fifth, and at least the longest limit on a latency, is not
evidence. Chance limits how narrow an interval can be: 40 s of Poisson arrivals at a queue of four workers determine the
highest load within about 3 % when a worker serves 50 calls a second, and within about 11 % when it serves 5.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from loomlib.statistics import CONFIDENCE

from .calls import LoadCall
from .columns import CallColumns, call_columns
from .crossing import LoadCrossing, ShareBatch, fit_crossing
from .objectives import CostObjective, LatencyObjective
from .slo import DOES_NOT_HOLD, Slo, exceeding

WITHIN_TOLERANCE: Final = "the highest load is known within the tolerance"
TIME_IS_UP: Final = "the time was up before the highest load was known within the tolerance"
HIGHEST_HOLDS: Final = "the highest load that was allowed holds the SLO"
NONE_HOLDS: Final = "even the lowest load that was allowed does not meet the SLO"

_NEAR: Final = 1.22
"""Ratio of a step's load to the crossing below which a line describes the share of calls beyond the limit."""
_ASIDE: Final = (1.0, 0.94, 1.06)
_FEWEST_STEPS: Final = 5
"""Number of steps near the crossing that an interval needs."""
_SMALLEST_MOVE: Final = 1.12
"""How far the next step may be from the last one, as a ratio: a line through few steps may cross far from where they
are. It grows while successive steps point in the same direction."""
_OVERLOADED: Final = 0.6
"""Share of calls beyond the limit above which a step says nothing about the line: its queue keeps growing."""
_WARM_UP_SHARE: Final = 0.2
_STEP_S: Final = 5.0
_STEP_LIMITS: Final = 10.0
"""Length of a step, in longest limits on a latency: the queue of a shorter step has not reached the length that belongs
to its load."""
_SHORTEST_LIMITS: Final = 8.0
"""Length, in longest limits on a latency, of the shortest step that is fitted."""
_INTERVAL: Final = 0.985
"""Nominal level of the interval, above the intended 95 %, as a search has few steps and may stop early. In simulated
searches (320 of 60 s each, with eight M/D/c and M/M/c queues) 89 % of the intervals contained the true load, and 93 %
without the queue whose share beyond the limit hardly grows up to the crossing (65 % for that one). The errors were
below 5 % in 93 % of the searches at four workers of constant 20 ms, in 70 % for exponential 20 ms and 95 % for
exponential 5 ms, and in 10 to 25 % for 200 ms, where a search of 60 s is too short."""


class StepRunner(Protocol):
    """Makes the calls of one step at a load, and returns their outcomes when all have ended."""

    def __call__(self, load: float, seconds: float) -> Sequence[LoadCall]:
        """Run a step.

        Args:
            load: Calls in a second, or users of a closed loop.
            seconds: How long calls are offered.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStep:
    """One step of a search.

    Attributes:
        load: The load.
        seconds: How long calls were offered.
        n: Number of calls that are evidence, without the first ones.
        outcome: The outcome of this step alone: "holds", "does not hold" or "not enough calls".
        is_met_by_estimates: Whether the figures themselves, without their intervals, are within the limits.
    """

    load: float
    seconds: float
    n: int
    outcome: str
    is_met_by_estimates: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestLoad:
    """The highest load that holds an SLO.

    Attributes:
        load: The estimate; None when even the lowest load does not hold.
        low: Lower end of its interval; None when the steps do not bound it.
        high: Upper end; None when the steps do not bound it, such as when the highest load that was allowed holds.
        is_within_tolerance: Whether the interval is within the tolerance.
        reason: Why the search ended.
        seconds: How long it took.
        steps: The steps, in the order in which they were made.
    """

    load: float | None
    low: float | None
    high: float | None
    is_within_tolerance: bool
    reason: str
    seconds: float
    steps: tuple[SearchStep, ...] = field(repr=False)


def find_highest_load(
    run: StepRunner,
    slo: Slo,
    *,
    first: float = 8.0,
    lowest: float = 1.0,
    highest: float = 10_000.0,
    tolerance: float = 0.05,
    limit_s: float = 60.0,
    is_whole: bool = False,
    costs_usd: Callable[[Sequence[LoadCall]], Mapping[int, float]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> HighestLoad:
    """Find the highest load that holds an SLO.

    Args:
        run: Runs a step.
        slo: The SLO.
        first: The first load that is tried.
        lowest: The lowest load that matters.
        highest: The highest load that may be offered.
        tolerance: The largest half-width of the interval, as a share of the load.
        limit_s: How long the search may take. A step that has begun is finished.
        is_whole: Whether loads are whole numbers, as users are.
        costs_usd: Returns the costs of a step's calls by index; needed for an SLO that limits the cost.
        clock: A monotonic clock, in seconds.
    """
    if not 0 < lowest <= first <= highest:
        raise ValueError("loads must be above 0, and first must be between lowest and highest")
    if not 0 < tolerance < 1 or limit_s <= 0:
        raise ValueError("tolerance must be above 0 and below 1, and limit_s above 0")
    if slo.needs_cost and costs_usd is None:
        raise ValueError("an SLO that limits the cost needs costs_usd")
    return _Search(run, slo, lowest, highest, tolerance, limit_s, is_whole, costs_usd, clock).find(first)


class _Search:
    def __init__(
        self,
        run: StepRunner,
        slo: Slo,
        lowest: float,
        highest: float,
        tolerance: float,
        limit_s: float,
        is_whole: bool,
        costs_usd: Callable[[Sequence[LoadCall]], Mapping[int, float]] | None,
        clock: Callable[[], float],
    ) -> None:
        self._run, self._slo, self._lowest, self._highest = run, slo, lowest, highest
        self._tolerance, self._limit_s, self._is_whole = tolerance, limit_s, is_whole
        self._costs_usd, self._clock = costs_usd, clock
        self._began_s = clock()
        self._steps: list[SearchStep] = []
        self._batches: dict[int, list[ShareBatch]] = {}
        self._warm_s = slo.longest_limit_ms / 1e3
        self._highest_held = 0.0
        self._failed = math.inf
        self._overhead_s = 0.0
        self._centre = 0.0

    def find(self, first: float) -> HighestLoad:
        if (end := self._bracket(first)) is not None:
            return end
        return self._between_whole() if self._is_whole else self._refined()

    def _between_whole(self) -> HighestLoad:
        """Bisect between two numbers of users."""
        while self._failed - self._highest_held > 1:
            seconds = self._seconds(max(2.0, 4 * self._warm_s))
            if seconds <= 0:
                return self._result(None, TIME_IS_UP)
            load = round(math.sqrt(self._highest_held * self._failed))
            self._move_ends(self._step(min(max(load, self._highest_held + 1), self._failed - 1), seconds))
        return self._result(None, WITHIN_TOLERANCE)

    def _refined(self) -> HighestLoad:
        self._centre = math.sqrt(self._highest_held * self._failed)
        crossing: LoadCrossing | None = None
        turn, move, was_upward = 0, math.sqrt(2), None
        while True:
            seconds = self._seconds(max(2.0 if crossing is None else _STEP_S, _STEP_LIMITS * self._warm_s))
            if seconds <= 0:
                return self._result(crossing, TIME_IS_UP)
            aside = 1.0 if crossing is None else _ASIDE[turn % len(_ASIDE)]
            turn += 1
            step = self._step(min(max(self._centre * aside, self._lowest), self._highest), seconds)
            crossing = self._crossing()
            if crossing is not None and crossing.is_within(self._tolerance) and self._is_near(crossing):
                return self._result(crossing, WITHIN_TOLERANCE)
            is_upward = step.is_met_by_estimates if crossing is None else crossing.load > self._centre
            if crossing is not None and 1 / move <= crossing.load / self._centre <= move:
                self._centre, move, was_upward = crossing.load, _SMALLEST_MOVE, None
                continue
            # Farther while the steps agree on the direction, closer when they do not.
            move = move if was_upward is None else move**1.5 if is_upward == was_upward else math.sqrt(move)
            move, was_upward = max(move, _SMALLEST_MOVE), is_upward
            self._centre = min(max(self._centre * (move if is_upward else 1 / move), self._lowest), self._highest)

    def _bracket(self, first: float) -> HighestLoad | None:
        load = first
        while True:
            seconds = self._seconds(self._probe_seconds(load))
            if seconds <= 0:
                return self._result(None, TIME_IS_UP)
            step = self._step(load, seconds)
            load = step.load  # rounded when loads are whole
            if step.outcome != DOES_NOT_HOLD:  # few calls say little; at twice the load there are more
                self._highest_held = max(self._highest_held, load)
                if self._failed < math.inf:
                    return None
                if load >= self._highest:
                    return self._end(self._highest, self._highest, None, HIGHEST_HOLDS)
                load = min(load * 2, self._highest)
            else:
                self._failed = min(self._failed, load)
                if self._highest_held > 0:
                    return None
                if load <= self._lowest:
                    return self._end(None, None, self._lowest, NONE_HOLDS)
                load = max(load / 2, self._lowest)

    def _move_ends(self, step: SearchStep) -> None:
        if step.is_met_by_estimates:
            self._highest_held = max(self._highest_held, step.load)
        else:
            self._failed = min(self._failed, step.load)

    def _step(self, load: float, seconds: float) -> SearchStep:
        load = float(round(load)) if self._is_whole else load
        began_s = self._clock()
        calls = self._run(load, seconds)
        self._overhead_s = max(0.0, self._clock() - began_s - seconds)
        from_s = max(_WARM_UP_SHARE * seconds, min(self._warm_s, seconds / 2))
        columns = call_columns(calls, from_s=from_s)
        costs = None if self._costs_usd is None else self._costs_usd(calls)
        result = self._slo.evaluate(columns, costs_usd=costs, confidence=CONFIDENCE)
        is_met_by_estimates = self._looks_held(columns, costs)
        step = SearchStep(
            load=load, seconds=seconds, n=columns.n, outcome=result.outcome, is_met_by_estimates=is_met_by_estimates
        )
        self._steps.append(step)
        if seconds >= _SHORTEST_LIMITS * self._warm_s:
            self._keep(len(calls) / seconds, columns)
        return step

    def _looks_held(self, columns: CallColumns, costs: Mapping[int, float] | None) -> bool:
        for objective in self._slo.objectives:
            if isinstance(objective, CostObjective):
                known_costs = [costs[index] for index in columns.index.tolist() if index in costs] if costs else []
                if known_costs and sum(known_costs) / len(known_costs) > objective.limit_usd:
                    return False
                continue
            beyond, allowed = exceeding(objective, columns)
            if not beyond.size or float(beyond.mean()) > allowed:
                return False
        return True

    def _keep(self, load: float, columns: CallColumns) -> None:
        for number, objective in enumerate(self._slo.objectives):
            if isinstance(objective, CostObjective):
                continue
            beyond, _ = exceeding(objective, columns)
            if beyond.size:
                self._batches.setdefault(number, []).append(ShareBatch(load=load, hits=beyond))

    def _crossing(self) -> LoadCrossing | None:
        """Return the lowest load at which an objective no longer holds, fitted to the steps near the present one."""
        crossings: list[LoadCrossing] = []
        for number, batches in self._batches.items():
            objective = self._slo.objectives[number]
            assert not isinstance(objective, CostObjective)
            allowed = 1 - objective.p if isinstance(objective, LatencyObjective) else objective.limit
            near = [one for one in batches if self._is_near_centre(one.load) and one.share < _OVERLOADED]
            if not 0 < allowed < 1 or len(near) < 3:
                continue
            crossing = fit_crossing(near, allowed, _INTERVAL)
            if self._is_near_centre(crossing.load):
                crossings.append(crossing)
        return min(crossings, key=lambda crossing: crossing.load, default=None)

    def _is_near_centre(self, load: float) -> bool:
        return self._centre / _NEAR <= load <= self._centre * _NEAR

    def _is_near(self, crossing: LoadCrossing) -> bool:
        """Whether enough steps were run near the crossing on both sides; one within the tolerance counts for both."""
        margin = 1 + self._tolerance
        loads = [step.load for step in self._steps if step.load * _NEAR >= crossing.load >= step.load / _NEAR]
        return (
            len(loads) >= _FEWEST_STEPS
            and any(load < crossing.load * margin for load in loads)
            and any(load > crossing.load / margin for load in loads)
        )

    def _probe_seconds(self, load: float) -> float:
        return max(1.0, 2 * self._warm_s, min(20 / load, self._limit_s / 10))

    def _seconds(self, wanted_s: float) -> float:
        """Return how long the next step may be; 0 when too little time is left for a useful one."""
        left_s = self._limit_s - (self._clock() - self._began_s) - self._overhead_s - self._warm_s
        return min(wanted_s, left_s) if left_s >= min(wanted_s, max(1.0, 2 * self._warm_s)) else 0.0

    def _result(self, crossing: LoadCrossing | None, reason: str) -> HighestLoad:
        if self._is_whole and self._highest_held > 0 and self._failed < math.inf:
            return self._end(self._highest_held, self._highest_held, self._failed, reason)
        if crossing is None and not self._centre:
            only_held, only_failed = self._highest_held or None, None if math.isinf(self._failed) else self._failed
            return self._end(only_held, only_held, only_failed, reason)
        if crossing is None:
            return self._end(self._centre, None, None, reason)
        return self._end(crossing.load, crossing.low, crossing.high, reason)

    def _end(self, load: float | None, low: float | None, high: float | None, reason: str) -> HighestLoad:
        if self._is_whole and load is not None:
            load = float(math.floor(load + 1e-9))
        return HighestLoad(
            load=load,
            low=low,
            high=high,
            is_within_tolerance=reason == WITHIN_TOLERANCE,
            reason=reason,
            seconds=self._clock() - self._began_s,
            steps=tuple(self._steps),
        )
