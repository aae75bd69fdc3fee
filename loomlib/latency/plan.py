"""The plan of a study: which scenario is called at which position, randomized in blocks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from .scenarios import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One timed call to make: its place in the order, its block, and its number within the scenario (all from 0)."""

    position: int
    block: int
    scenario: Scenario
    index: int


def plan_calls(counts: Mapping[Scenario, int], *, seed: int) -> tuple[PlannedCall, ...]:
    """Every timed call of a study in the order it will be made.

    Block k holds the k-th call of each scenario that still has one, shuffled by `seed`. So whatever drifts while
    the study runs (a busy machine, a warming cache) touches all scenarios alike, and the k-th cold and the k-th warm
    call lie close together, which is what pairing them rests on (randomized complete blocks; Box, Hunter & Hunter,
    Statistics for Experimenters, 2nd ed. 2005, ch. 4).
    """
    if negative := [f"{scenario}={count}" for scenario, count in counts.items() if count < 0]:
        raise ValueError(f"a scenario cannot have fewer than 0 calls: {', '.join(negative)}")
    if not any(counts.values()):
        raise ValueError("a study needs at least one call: give cold, warm or sticky a count above 0")
    shuffler = random.Random(seed)  # noqa: S311 - an order, not a secret
    calls: list[PlannedCall] = []
    for block in range(max(counts.values())):
        owed = [scenario for scenario in Scenario if counts.get(scenario, 0) > block]
        shuffler.shuffle(owed)
        for scenario in owed:
            calls.append(PlannedCall(position=len(calls), block=block, scenario=scenario, index=block))
    return tuple(calls)
