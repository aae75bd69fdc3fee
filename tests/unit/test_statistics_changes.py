"""Changes of level by ranks: exact expectations, false alarms under repeated looks, and intervals of shifts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.latency.watch.detection import WORSE, NightSeries, find_changes
from loomlib.statistics.changes import change_evidence, fewest_nights
from loomlib.statistics.multiplicity import closed_e_values
from loomlib.statistics.shifts import estimate_shift

E_VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=7)


def nights(
    random: np.random.Generator, count: int, *, change: int | None = None, ratio: float = 1.0, depends: float = 0.0
) -> list[float]:
    """Log medians of 10 to 50 heavy-tailed calls a night; the level varies by 5 % and depends on the night before."""
    levels: list[float] = []
    level = 0.05 * random.standard_normal()
    for night in range(count):
        calls = 0.5 * random.standard_normal(random.integers(10, 51))
        calls = np.where(random.random(calls.size) < 0.03, calls + 1.5, calls)
        levels.append(
            float(np.median(calls)) + level + (math.log(ratio) if change is not None and night >= change else 0)
        )
        level = depends * level + 0.05 * math.sqrt(1 - depends**2) * random.standard_normal()
    return levels


@pytest.mark.parametrize("hints", [(), (2,), (1, 3)])
def test_the_evidence_has_expectation_one_over_all_orders_of_the_nights(hints: tuple[int, ...]) -> None:
    orders = itertools.permutations([1.0, 2.0, 3.5, 7.0, 11.0])
    evidence = [change_evidence(order, hints=hints).e_value for order in orders]
    assert sum(evidence) / len(evidence) == pytest.approx(1.0, abs=1e-9)


def test_the_next_night_changes_the_evidence_by_nothing_on_average() -> None:
    # Without a change the rank of the next night is uniform: above, below, or between the former ones.
    former = [2.0, 6.0, 4.0, 8.0]
    next_nights = [1.0, 3.0, 5.0, 7.0, 9.0]
    after = [change_evidence([*former, value], hints=(3,)).e_value for value in next_nights]
    assert sum(after) / len(after) == pytest.approx(change_evidence(former, hints=(3,)).e_value)


def test_the_evidence_is_the_same_in_every_unit_and_scale() -> None:
    values = [3.0, 5.0, 4.0, 9.0, 8.0, 11.0]
    assert change_evidence(values).e_value == change_evidence([math.exp(value) for value in values]).e_value


def test_a_clear_change_is_found_on_its_night() -> None:
    random = np.random.default_rng(1)
    values = [*random.normal(0, 1, 20), *random.normal(6, 1, 5)]
    evidence = change_evidence([float(value) for value in values])
    assert evidence.e_value > 20
    assert evidence.night == 20
    first, last = evidence.nights()
    assert first <= 20 <= last


def test_a_known_release_makes_the_same_change_clearer() -> None:
    values = [float(night % 5) for night in range(20)] + [9.0, 10.0, 11.0]
    assert change_evidence(values, hints=(20,)).e_value > 5 * change_evidence(values).e_value


def test_nights_that_are_all_equal_are_no_evidence() -> None:
    assert change_evidence([0.0] * 40).e_value < 5


def test_a_change_needs_two_nights_and_a_dozen_to_be_found() -> None:
    with pytest.raises(ValueError, match="at least two nights, not 1"):
        change_evidence([1.0])
    assert fewest_nights() == 12


@given(E_VALUES)
def test_closed_testing_is_the_smallest_mean_over_all_sets_of_a_figure(values: list[float]) -> None:
    adjusted = closed_e_values(values)
    for place in range(len(values)):
        sets = itertools.chain.from_iterable(
            itertools.combinations(range(len(values)), size) for size in range(1, len(values) + 1)
        )
        smallest = min(sum(values[k] for k in one) / len(one) for one in sets if place in one)
        assert adjusted[place] == pytest.approx(smallest)


def test_an_e_value_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or above"):
        closed_e_values([1.0, -0.1])


def test_the_interval_of_a_shift_contains_it_and_the_estimate() -> None:
    random = np.random.default_rng(4)
    hits = 0
    for _ in range(60):
        before, after = random.normal(0, 1, 20), random.normal(1.5, 1, 10)
        shift = estimate_shift(before.tolist(), after.tolist())
        assert shift.value is not None
        assert shift.low is not None
        assert shift.high is not None
        hits += shift.low <= 1.5 <= shift.high
    assert hits >= 57


def test_two_nights_bound_no_shift() -> None:
    shift = estimate_shift([1.0, 2.0], [5.0])
    assert (shift.value, shift.low, shift.open_above) == (3.5, -math.inf, True)
    assert estimate_shift([], [1.0]).value is None


def alarms(seed: int, histories: int, *, depends: float = 0.0) -> float:
    random = np.random.default_rng(seed)
    has_alarm = [
        any(
            change.direction == WORSE
            for change in find_changes([NightSeries(nights=range(60), levels=nights(random, 60, depends=depends))])
        )
        for _ in range(histories)
    ]
    return sum(has_alarm) / histories


def test_at_most_five_percent_of_histories_without_a_change_raise_an_alarm_in_sixty_looks() -> None:
    # The limit for 40 histories: 6 alarms or more have a probability below 2 % at 5 %; measured is about 1 %.
    assert alarms(7, 40) <= 5 / 40


@pytest.mark.long
def test_false_alarms_stay_below_five_percent_also_when_a_night_depends_on_the_one_before() -> None:
    assert alarms(11, 300) <= 0.03
    assert alarms(12, 300, depends=0.3) <= 0.05


@pytest.mark.long
def test_a_change_of_fifty_percent_is_found_within_a_week_in_most_histories() -> None:
    random = np.random.default_rng(5)
    waits: list[int] = []
    for _ in range(60):
        series = NightSeries(nights=range(44), levels=nights(random, 44, change=30, ratio=1.5), hints=[30])
        alarm_nights = [change.found for change in find_changes([series]) if change.direction == WORSE]
        waits.append(min((night - 29 for night in alarm_nights if night >= 30), default=99))
    assert sum(wait <= 7 for wait in waits) >= 0.9 * len(waits)
