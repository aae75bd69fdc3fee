"""The plan of a study: counts, blocks, and the same order for the same seed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.latency import Scenario
from loomlib.latency.design import StudyDesign


def planned(counts: dict[Scenario, int], seed: int):
    return StudyDesign(**{name.value: count for name, count in counts.items()}, seed=seed).calls()


counts = st.fixed_dictionaries({scenario: st.integers(0, 40) for scenario in Scenario}).filter(
    lambda drawn: any(drawn.values())
)


@given(counts, st.integers(0, 2**32))
def test_a_plan_holds_exactly_the_calls_that_were_asked_for(wanted: dict[Scenario, int], seed: int) -> None:
    plan = planned(wanted, seed)
    assert Counter(call.scenario for call in plan) == {name: n for name, n in wanted.items() if n}
    assert [call.position for call in plan] == list(range(sum(wanted.values())))


@given(counts, st.integers(0, 2**32))
def test_each_block_holds_one_call_of_every_scenario_that_still_has_one(wanted: dict[Scenario, int], seed: int) -> None:
    plan = planned(wanted, seed)
    for block in range(max(wanted.values())):
        scenarios = [call.scenario for call in plan if call.block == block]
        assert sorted(scenarios) == sorted(name for name, n in wanted.items() if n > block)
    assert [call.block for call in plan] == sorted(call.block for call in plan)


@given(counts, st.integers(0, 2**32))
def test_the_same_seed_plans_the_same_order(wanted: dict[Scenario, int], seed: int) -> None:
    assert planned(wanted, seed) == planned(wanted, seed)


def test_another_seed_plans_another_order() -> None:
    call_counts = dict.fromkeys(Scenario, 20)
    assert planned(call_counts, 1) != planned(call_counts, 2)


def test_a_plan_without_calls_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one call"):
        planned(dict.fromkeys(Scenario, 0), 0)


def test_a_negative_count_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="warm=-1"):
        planned({Scenario.COLD: 1, Scenario.WARM: -1}, 0)
