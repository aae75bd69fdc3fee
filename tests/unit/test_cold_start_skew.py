"""Two clocks: the bound always encloses the truth, and says when they certainly disagree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.telemetry.clock_skew import ClockSample, bound_skew

seconds = st.floats(0, 30, allow_nan=False)


@given(st.floats(-5, 5), st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=6))
def test_the_bound_encloses_the_true_skew_and_the_true_latency(
    skew: float, calls: list[tuple[float, float, float]]
) -> None:
    sightings = []
    for at, wait, rest in calls:
        sent_s = 1_000 + at
        sightings.append(ClockSample(sent=sent_s, received=sent_s + wait + rest, start=sent_s + wait + skew))
    bound = bound_skew(sightings)
    assert bound is not None
    slack = 1e-6
    assert bound.low_ms - slack <= skew * 1000 <= bound.high_ms + slack
    first = sightings[0]
    low, high = bound.latency_range_ms((first.start - first.sent) * 1000)
    assert low - slack <= calls[0][1] * 1000 <= high + slack
    assert not bound.clocks_disagree or skew != 0


@pytest.mark.parametrize("skew", [5.0, -5.0])
def test_a_skew_of_five_seconds_is_found_out_and_the_latency_is_still_enclosed(skew: float) -> None:
    cold = ClockSample(sent=100.0, received=100.5, start=100.4 + skew)
    warm = ClockSample(sent=101.0, received=101.01, start=101.005 + skew)
    bound = bound_skew([cold, warm])
    assert bound is not None
    assert bound.clocks_disagree
    low, high = bound.latency_range_ms((cold.start - cold.sent) * 1000)
    assert (low, high) == (pytest.approx(395, abs=0.1), pytest.approx(405, abs=0.1))


def test_a_clock_that_was_set_in_between_leaves_the_first_sighting() -> None:
    first = ClockSample(sent=1.0, received=1.1, start=1.05)
    after = ClockSample(sent=2.0, received=2.1, start=9.0)
    bound = bound_skew([first, after])
    assert bound is not None
    assert bound.calls == 1
    assert bound.low_ms == pytest.approx(-50)
    assert bound.high_ms == pytest.approx(50)


def test_no_sighting_gives_no_bound() -> None:
    assert bound_skew([]) is None
