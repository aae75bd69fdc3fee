"""A study's estimates, its clock bound, its sentences and where its time goes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latency_calls import calls, failed

from loomlib.latency import Scenario, StudyDesign, StudyResult
from loomlib.latency.clocks import bound_clocks
from loomlib.latency.floor import Floor
from loomlib.latency.parts import share_sentence, split_time
from loomlib.latency.sentences import sentences
from loomlib.latency.summaries import StudySummary, summarize

FLOOR = Floor(durations_ms=tuple(1.0 + k / 100 for k in range(31)), content_type="application/json", size_bytes=12)
COLD = [310.0 + 3 * k for k in range(12)]
WARM = [10.0 + k / 2 for k in range(12)]


def sentences_of(measurements: list) -> list[str]:  # type: ignore[type-arg]
    """The sentences of a study with these calls, without the one on where the time goes."""
    design = StudyDesign(cold=1)
    result = StudyResult(
        study_id="s", agent_name="a", agent_arn="arn", qualifier="DEFAULT", scope="local", labels=(), design=design,
        state="complete", created_at=datetime.now(UTC), finished_at=None, calls=tuple(measurements), floor=FLOOR,
        client={}, store=None,
    )  # type: ignore[arg-type]  # fmt: skip
    return [text for text in sentences(result) if not text.startswith("Of a cold call")]


def summary(measurements: list, floor: Floor = FLOOR) -> StudySummary:  # type: ignore[type-arg]
    return summarize(measurements, floor)


def test_failed_calls_are_in_no_percentile_and_counted_by_class() -> None:
    study_summary = summary(
        [*calls(cold=COLD), failed(90, Scenario.COLD, "throttle"), failed(91, Scenario.COLD, "timeout")]
    )
    (cold,) = study_summary.scenarios
    assert (cold.n, cold.failed, cold.failures) == (12, 2, {"throttle": 1, "timeout": 1})
    assert cold.p50.n == 12
    assert cold.failure_share.value == pytest.approx(2 / 14)


def test_scenarios_without_a_planned_call_are_left_out() -> None:
    assert [scenario.scenario for scenario in summary(calls(warm=WARM)).scenarios] == [Scenario.WARM]


def test_a_new_session_costs_what_cold_takes_longer_than_warm_in_the_same_block() -> None:
    drift = [0, 400, 100, 900, 50, 700, 300, 20]
    cost = summary(calls(cold=[310.0 + d for d in drift], warm=[10.0 + d for d in drift])).session_cost
    assert cost is not None
    assert cost.basis == "the first byte"
    assert cost.estimate.value == pytest.approx(300 * 0.95)
    assert cost.estimate.high == pytest.approx(300 * 0.95)


@given(st.floats(-5000, 5000))
def test_a_clock_that_is_off_does_not_change_what_a_new_session_costs(skew_ms: float) -> None:
    measurements = calls(
        cold=COLD,
        warm=WARM,
        cold_starts=[duration_ms - 8 + skew_ms for duration_ms in COLD],
        warm_starts=[2.0 + skew_ms] * len(WARM),
    )
    cost = summary(measurements).session_cost
    assert cost is not None
    assert cost.basis == "the agent starts"
    assert cost.estimate.value == pytest.approx(310 + 16.5 - 8 - 2, abs=1e-6)


@given(st.floats(-5000, 5000), st.lists(st.floats(0.5, 9), min_size=1, max_size=12))
def test_the_clock_bound_holds_the_true_offset(skew_ms: float, true_starts: list[float]) -> None:
    bound = bound_clocks(calls(warm=WARM, warm_starts=[start_ms + skew_ms for start_ms in true_starts]))
    assert bound is not None
    assert bound.is_consistent
    assert bound.low_ms - 1e-6 <= skew_ms <= bound.high_ms + 1e-6
    assert bound.n == len(true_starts)


def test_a_clock_that_was_set_in_between_is_reported_and_widens_the_bound() -> None:
    bound = bound_clocks(calls(warm=WARM, warm_starts=[2.0, 5002.0, 3.0]))
    assert bound is not None
    assert not bound.is_consistent
    assert bound.low_ms < 0 < 5000 < bound.high_ms


def test_without_a_start_there_is_no_clock_bound() -> None:
    assert bound_clocks(calls(warm=WARM)) is None


def test_a_study_is_reported_in_three_sentences() -> None:
    measurements = calls(
        cold=COLD, warm=WARM, cold_starts=[duration_ms - 8 for duration_ms in COLD], warm_starts=[2.0] * 12
    )
    first, second, third = sentences_of(measurements)
    assert first.startswith("A new session costs 317 ms (95 % interval ")
    assert first.endswith(" before the agent starts.")
    assert second.startswith("In a warm session, 9 in 10 answers begin within 14.")
    assert third == "No failures in 24 calls."


def test_failures_are_reported_by_class() -> None:
    measurements = [*calls(cold=COLD), failed(90, Scenario.COLD, "throttle"), failed(91, Scenario.COLD, "throttle")]
    assert sentences_of(measurements)[-1] == "2 failures in 14 calls (14.3 %): 2 throttle."


def test_too_few_calls_are_reported_as_too_few() -> None:
    measurements = calls(cold=[300.0], warm=[10.0])
    assert sentences_of(measurements) == [
        "The cost of a new session is unknown: 1 pair of a cold and a warm call, 6 are needed.",
        "In a warm session, too few calls were answered to tell when 9 in 10 begin (1; 10 are needed).",
        "No failures in 2 calls.",
    ]


def test_a_difference_that_may_be_nothing_is_not_reported_as_a_cost() -> None:
    measurements = calls(cold=[10.0, 12, 9, 11, 10, 12, 8, 11], warm=[11.0, 11, 10, 10, 12, 10, 9, 11])
    assert sentences_of(measurements)[0].startswith(
        "8 pairs of calls show no difference between a new and a warm session"
    )


def test_a_study_without_any_call_reports_it() -> None:
    measurements = [measurement for measurement in calls(cold=[1.0])]
    measurements = [type(measurements[0])(position=0, block=0, scenario=Scenario.COLD, state="planned")]
    assert sentences_of(measurements)[-1] == "This study is not finished: 1 call pending."


@given(
    st.lists(st.tuples(st.floats(1, 1e5), st.floats(0, 1)), min_size=1, max_size=20),
    st.floats(-5000, 5000),
    st.floats(0, 50),
)
def test_the_parts_of_a_calls_time_add_up(shares: list[tuple[float, float]], skew_ms: float, floor_ms: float) -> None:
    measurements = calls(cold=[d for d, _ in shares], cold_starts=[d * part + skew_ms for d, part in shares])
    parts = split_time(measurements, Floor(durations_ms=(floor_ms,)), Scenario.COLD)
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert all(0 <= part.share <= 1 + 1e-9 for part in parts)


def test_where_the_time_goes_is_not_split_without_start_times() -> None:
    parts = split_time(calls(cold=COLD), FLOOR, Scenario.COLD)
    assert [part.key for part in parts] == ["unsplit", "floor"]
    assert share_sentence(parts, Scenario.COLD) == ""
    assert split_time([], FLOOR, Scenario.COLD) == ()


def test_where_a_cold_calls_time_goes_is_a_sentence() -> None:
    measurements = calls(cold=[100.0] * 6, cold_starts=[91.15] * 6)
    text = share_sentence(split_time(measurements, FLOOR, Scenario.COLD), Scenario.COLD)
    assert text.startswith("Of a cold call's time: before the agent starts 90 %, the agent's answer (model, tools and ")
    assert text.endswith("the harness itself 1.1 %.")
