"""One rule for all gates: by the interval, by every single measurement, and how many would decide it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.statistics import decide_at_least, decide_at_most, decide_not_worse
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.percentiles import estimate_percentile, estimate_share


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40), st.floats(0.1, 2e6))
def test_a_limit_is_missed_whenever_every_measurement_is_above_it(values: list[float], limit: float) -> None:
    decision = decide_at_most(estimate_percentile(values, 0.5), limit, values)
    if min(values) > limit:
        assert (decision.outcome, decision.is_missed_by_all) == ("missed", True)
    elif max(values) <= limit:
        assert decision.outcome != "missed"


def test_an_unclear_share_needs_as_many_as_would_narrow_its_interval() -> None:
    values = [1.0] * 18 + [0.0] * 2
    decision = decide_at_least(estimate_share(18, 20), 0.8, values)
    assert decision.outcome == "unclear"
    assert decision.needed_n is not None
    right = round(0.9 * decision.needed_n)
    assert decide_at_least(estimate_share(right, decision.needed_n), 0.8, [1.0]).outcome == "passed"
    assert decision.advice("case") == f"about {decision.needed_n} cases are needed to decide (there are 20)"


def test_a_figure_at_its_limit_is_reported_to_be_too_close() -> None:
    decision = decide_at_least(estimate_share(9, 10), 0.9, [1.0] * 9 + [0.0])
    assert decision.advice("case").startswith("the figure is too close to the limit: more than 10\u202f000 cases")


def test_too_few_measurements_name_the_smallest_sample() -> None:
    estimate = estimate_mean([0.5, 1.0])
    assert decide_at_least(estimate, 0.9, [0.5, 1.0]).needed_n == estimate.needed_n


@pytest.mark.parametrize("count", [3, 10, 12])
@pytest.mark.parametrize("step_ms", [0.0, 10.0])
def test_a_percentile_that_is_open_above_needs_the_sample_that_bounds_it(count: int, step_ms: float) -> None:
    values, more = ([600 + step_ms * number for number in range(size)] for size in (count, 13))
    decision = decide_at_most(estimate_percentile(values, 0.75), 2000, values, percentile=0.75)
    assert (decision.outcome, decision.needed_n) == ("unclear", 13)
    assert decide_at_most(estimate_percentile(more, 0.75), 2000, more, percentile=0.75).outcome == "passed"


def test_a_percentile_whose_upper_end_does_not_matter_needs_no_upper_end() -> None:
    values = [900.0] * 3 + [1100.0 + 40 * number for number in range(7)]
    estimate = estimate_percentile(values, 0.75)
    assert estimate.open_above
    needed_n = decide_at_most(estimate, 1000, values).needed_n
    assert decide_at_most(estimate, 1000, values, percentile=0.75).needed_n == needed_n
    assert decide_at_most(estimate, 2000, values, percentile=0.75, allow_open=True).outcome == "passed"


@pytest.mark.parametrize(("differences", "missed"), [([-0.5], True), ([-0.5, -0.01], False), ([], False)])
def test_a_baseline_gate_is_missed_when_every_case_is_worse_by_more_than_the_margin(
    differences: list[float], missed: bool
) -> None:
    decision = decide_not_worse(estimate_mean(differences), 0.02, differences)
    assert (decision.outcome == "missed") is missed


def test_a_decided_gate_needs_nothing() -> None:
    decision = decide_at_least(estimate_share(40, 40), 0.8, [1.0] * 40)
    assert (decision.outcome, decision.advice("case")) == ("passed", "")
