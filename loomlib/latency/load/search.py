"""The highest load that holds an SLO, found in a limited time although every measurement is noisy.

1. Bracket: short steps at doubling loads until one is beyond the SLO (from the first load downwards when that is).
2. Bisect: a step at the geometric middle, until the bracket's ends are within a ratio of 1.35. An end is provisional: a
   short step can err, so the next stage may leave the bracket again (bisection with noisy responses: Waeber, Frazier &
   Henderson, SIAM Journal on Control and Optimization 51:3, 2013).
3. Fit: the share of calls beyond the limit is a line of its logit over the load (`crossing`), and the next step is made
   where the line crosses the allowed share, a little to both sides in turn so that its slope is known: sequential
   estimation with a logit (Wu, Journal of the American Statistical Association 80:392, 1985). A step counts as one
   observation, since its calls depend on each other. The search ends when five steps or more give the crossing a 95 %
   interval within the tolerance, or when the time is up.

Every step begins with an idle service, so its first fifth, and at least the longest limit on a latency, is no evidence.
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
from .slo import HOLDS, NOT_ENOUGH_CALLS, Slo, exceeding

WITHIN_TOLERANCE: Final = "the highest load is known within the tolerance"
TIME_IS_UP: Final = "the time was up before the highest load was known within the tolerance"
HIGHEST_HOLDS: Final = "the highest load that was allowed holds the SLO"
NONE_HOLDS: Final = "even the lowest load that was allowed does not hold the SLO"

_NARROW: Final = 1.35
"""Ratio of a bracket's ends below which a line describes the share of calls beyond the limit."""
_ASIDE: Final = (1.0, 0.95, 1.05)
_FEWEST_STEPS: Final = 5
"""Steps near the crossing that an interval needs."""
_WARM_UP_SHARE: Final = 0.2
_STEP_S: Final = 5.0
_Z: Final = 2.3
"""A 95 % interval's half-width in standard errors: Student's t with 8 degrees of freedom, as a search has few steps."""


class StepRunner(Protocol):
    """Makes the calls of one step at a load and returns what became of them, when all have ended."""

    def __call__(self, load: float, seconds: float) -> Sequence[LoadCall]:
        """Make a step.

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
        n: Calls that are evidence, without the first ones.
        outcome: What the step says by itself: "holds", "does not hold" or "not enough calls".
        looks_held: Whether the figures themselves, without their intervals, are within the limits.
    """

    load: float
    seconds: float
    n: int
    outcome: str
    looks_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestLoad:
    """The highest load that holds an SLO.

    Attributes:
        load: The estimate; None when even the lowest load does not hold.
        low: Lower end of its interval.
        high: Upper end; None when the highest load that was allowed holds.
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
        run: Makes a step.
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
        raise ValueError("loads are above 0, and first is between lowest and highest")
    if not 0 < tolerance < 1 or limit_s <= 0:
        raise ValueError("tolerance is above 0 and below 1, and limit_s is above 0")
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
        self._held = 0.0
        self._failed = math.inf
        self._overhead_s = 0.0
        self._centre = 0.0

    def find(self, first: float) -> HighestLoad:
        if (end := self._bracket(first)) is not None:
            return end
        turn = 0
        while True:
            crossing = self._crossing()
            if crossing is not None and self._is_near(crossing) and _Z * crossing.log_error <= self._tolerance:
                return self._found(crossing, WITHIN_TOLERANCE)
            if self._is_whole and self._failed - self._held <= 1:
                return self._found(None, WITHIN_TOLERANCE)
            seconds = self._seconds(self._step_seconds())
            if seconds <= 0:
                return self._found(crossing, TIME_IS_UP)
            load = math.sqrt(self._held * self._failed)
            if self._failed / self._held <= _NARROW:
                load = (self._centre or load) * _ASIDE[turn % len(_ASIDE)]
                turn += 1
            self._step(min(max(load, self._lowest), self._highest), seconds)

    def _bracket(self, first: float) -> HighestLoad | None:
        load = first
        while True:
            seconds = self._seconds(self._probe_seconds(load))
            if seconds <= 0:
                return self._found(None, TIME_IS_UP)
            step = self._step(load, seconds)
            if not step.looks_held and step.outcome == NOT_ENOUGH_CALLS and (seconds := self._seconds(2 * seconds)) > 0:
                self._failed = self._failed_before(load)
                step = self._step(load, seconds)
            if step.looks_held:
                if self._failed < math.inf:
                    return None
                if load >= self._highest:
                    return self._end(self._highest, self._highest, None, HIGHEST_HOLDS)
                load = min(load * 2, self._highest)
            else:
                if self._held > 0:
                    return None
                if load <= self._lowest:
                    return self._end(None, None, self._lowest, NONE_HOLDS)
                load = max(load / 2, self._lowest)

    def _failed_before(self, load: float) -> float:
        """Return the lowest load that did not hold but for one whose few calls are to be measured again."""
        return min((step.load for step in self._steps if not step.looks_held and step.load > load), default=math.inf)

    def _step(self, load: float, seconds: float) -> SearchStep:
        load = float(round(load)) if self._is_whole else load
        began_s = self._clock()
        calls = self._run(load, seconds)
        self._overhead_s = max(0.0, self._clock() - began_s - seconds)
        from_s = max(_WARM_UP_SHARE * seconds, min(self._warm_s, seconds / 2))
        columns = call_columns(calls, from_s=from_s)
        costs = None if self._costs_usd is None else self._costs_usd(calls)
        result = self._slo.evaluate(columns, costs_usd=costs, confidence=CONFIDENCE)
        looks_held = self._looks_held(columns, costs)
        step = SearchStep(load=load, seconds=seconds, n=columns.n, outcome=result.outcome, looks_held=looks_held)
        self._steps.append(step)
        self._keep(load, columns)
        is_held = step.outcome == HOLDS or (step.outcome == NOT_ENOUGH_CALLS and looks_held)
        if self._failed / max(self._held, 1e-9) > _NARROW or self._is_whole:
            if is_held:
                self._held = max(self._held, load)
                if self._failed <= load:
                    self._failed = self._next_failed(load)
            else:
                self._failed = min(self._failed, load)
                if self._held >= load:
                    self._held = self._next_held(load)
        return step

    def _next_failed(self, load: float) -> float:
        """Return the lowest load above one that holds that does not, after a contradiction."""
        above = [step.load for step in self._steps if step.load > load and not step.looks_held]
        return min(above, default=min(load * _NARROW, self._highest * 1.0001))

    def _next_held(self, load: float) -> float:
        below = [step.load for step in self._steps if step.load < load and step.looks_held]
        return max(below, default=max(load / _NARROW, self._lowest * 0.9999))

    def _looks_held(self, columns: CallColumns, costs: Mapping[int, float] | None) -> bool:
        for objective in self._slo.objectives:
            if isinstance(objective, CostObjective):
                known = [costs[index] for index in columns.index.tolist() if index in costs] if costs else []
                if known and sum(known) / len(known) > objective.limit_usd:
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
                batch = ShareBatch(load=load, hits=int(beyond.sum()), n=int(beyond.size))
                self._batches.setdefault(number, []).append(batch)

    def _crossing(self) -> LoadCrossing | None:
        """Return the lowest load at which an objective stops to hold, fitted to the steps near the bracket."""
        found: list[LoadCrossing] = []
        if self._failed / self._held > _NARROW:
            return None
        centre = self._centre or math.sqrt(self._held * self._failed)
        for number, batches in self._batches.items():
            objective = self._slo.objectives[number]
            assert not isinstance(objective, CostObjective)
            near = [one for one in batches if centre / _NARROW <= one.load <= centre * _NARROW]
            allowed = 1 - objective.p if isinstance(objective, LatencyObjective) else objective.limit
            if not 0 < allowed < 1 or len({one.load for one in near}) < 3:
                continue
            if (crossing := fit_crossing(near, allowed)) is not None:
                found.append(crossing)
        if not found:
            return None
        lowest = min(found, key=lambda crossing: crossing.load)
        # A step at a time: a line through few steps may cross far from where they are.
        self._centre = min(max(lowest.load, centre / 1.15), centre * 1.15)
        return lowest

    def _is_near(self, crossing: LoadCrossing) -> bool:
        """Whether enough steps were made near the crossing, on both sides of it but for the tolerance."""
        margin = 1 + self._tolerance
        loads = [step.load for step in self._steps if step.load * _NARROW >= crossing.load >= step.load / _NARROW]
        return (
            len(loads) >= _FEWEST_STEPS
            and any(load < crossing.load * margin for load in loads)
            and any(load > crossing.load / margin for load in loads)
        )

    def _probe_seconds(self, load: float) -> float:
        return max(1.0, 2 * self._warm_s, min(20 / load, self._limit_s / 10))

    def _step_seconds(self) -> float:
        return max(_STEP_S, 10 * self._warm_s) if self._failed / self._held <= _NARROW else max(2.0, 4 * self._warm_s)

    def _seconds(self, wanted_s: float) -> float:
        """Return how long the next step may be; 0 when too little time is left for a useful one."""
        left_s = self._limit_s - (self._clock() - self._began_s) - self._overhead_s - self._warm_s
        return min(wanted_s, left_s) if left_s >= min(wanted_s, max(1.0, 2 * self._warm_s)) else 0.0

    def _found(self, crossing: LoadCrossing | None, reason: str) -> HighestLoad:
        if crossing is not None:
            width = math.exp(_Z * crossing.log_error)
            load = min(max(crossing.load, self._lowest), self._highest)
            return self._end(load, load / width, load * width, reason)
        if self._held <= 0:
            return self._end(None, None, None if math.isinf(self._failed) else self._failed, reason)
        if math.isinf(self._failed):
            return self._end(self._held, self._held, None, reason)
        load = self._held if self._is_whole else math.sqrt(self._held * self._failed)
        return self._end(load, self._held, self._failed, reason)

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
