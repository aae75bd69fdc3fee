"""Arrival processes, sessions and bodies of load steps."""

from __future__ import annotations

import numpy as np
import pytest

from loomlib.latency.load.arrivals import (
    Arrivals,
    BurstyArrivals,
    ClosedLoop,
    ConstantArrivals,
    PoissonArrivals,
    RampArrivals,
    RecordedArrivals,
)
from loomlib.latency.load.bodies import GrowingPrompts, PayloadSizes, SameBody
from loomlib.latency.load.plans import plan_load
from loomlib.latency.load.sessions import Conversations, PreWarmedPool, StickySessions, WarmSessions

BODY = SameBody(prompt="hi")


def _times(arrivals: Arrivals, seconds: float) -> np.ndarray:
    return np.array([start.at_s for start in arrivals.starts(seconds, seed=3)])


def test_constant_arrivals_are_equally_apart() -> None:
    assert _times(ConstantArrivals(rate_per_s=10), 0.3).tolist() == pytest.approx([0, 0.1, 0.2])


@pytest.mark.parametrize(
    ("arrivals", "variation"), [(PoissonArrivals(rate_per_s=50), 1), (BurstyArrivals(rate_per_s=50), 3)]
)
def test_random_arrivals_have_their_rate_and_variation(arrivals: Arrivals, variation: float) -> None:
    times = _times(arrivals, 2_000)
    gaps = np.diff(times)
    assert times.size / 2_000 == pytest.approx(50, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.05)
    assert arrivals.starts(5, seed=1) == arrivals.starts(5, seed=1)
    assert arrivals.starts(5, seed=1) != arrivals.starts(5, seed=2)


def test_a_ramp_has_the_calls_of_its_mean_rate_most_of_them_late() -> None:
    times = _times(RampArrivals(from_per_s=0, to_per_s=100), 100)
    assert times.size == pytest.approx(5_000, rel=0.05)
    assert (times > 50).mean() == pytest.approx(0.75, abs=0.03)
    assert _times(RampArrivals(from_per_s=2, to_per_s=2, is_random=False), 2).tolist() == pytest.approx(
        [0, 0.5, 1, 1.5]
    )


@pytest.mark.parametrize("is_random", [True, False])
def test_a_ramp_of_no_duration_has_no_calls(is_random: bool) -> None:
    assert RampArrivals(from_per_s=0, to_per_s=10, is_random=is_random).starts(0, seed=0) == ()


def test_recorded_arrivals_are_sorted_and_cut() -> None:
    assert _times(RecordedArrivals(times_s=(2.0, 0.5, 9.0)), 5).tolist() == [0.5, 2.0]


def test_users_of_a_closed_loop_follow_their_own_answers() -> None:
    plan = plan_load(
        ClosedLoop(users=2, calls_per_user=3, think_s=1), BODY, seconds=1, run="a", seed=0, sessions=StickySessions()
    )
    assert [(call.user, call.at_s, call.think_s) for call in plan.calls[:3]] == [(0, 0, 0), (1, 0, 0), (0, None, 1)]
    assert len({call.session_id for call in plan.calls}) == 2
    assert plan.labels == ("cold", "cold", "sticky", "sticky", "sticky", "sticky")


def test_a_pool_is_used_up_before_calls_start_cold_and_new_runs_have_new_sessions() -> None:
    arrivals = ConstantArrivals(rate_per_s=4)
    plan = plan_load(arrivals, BODY, seconds=1, run="a", seed=0, sessions=PreWarmedPool(size=3))
    assert plan.labels == ("pre-warmed",) * 3 + ("cold",)
    assert [call.session_id for call in plan.before] == [call.session_id for call in plan.calls[:3]]
    other = plan_load(arrivals, BODY, seconds=1, run="b", seed=0)
    assert not {call.session_id for call in plan.calls} & {call.session_id for call in other.calls}


def test_calls_that_keep_sessions_alive_are_not_measured() -> None:
    plan = plan_load(
        ConstantArrivals(rate_per_s=2),
        BODY,
        seconds=4,
        run="a",
        seed=0,
        sessions=WarmSessions(sessions=2, keep_alive_s=1),
    )
    assert len(plan.measured) == 8 < len(plan.calls)
    assert {plan.labels[index] for index in plan.measured} == {"warm"}


def test_conversations_grow_turn_by_turn() -> None:
    plan = plan_load(
        ConstantArrivals(rate_per_s=1),
        GrowingPrompts(),
        seconds=2,
        run="a",
        seed=0,
        sessions=Conversations(turns=3, think_s=2),
    )
    assert plan.labels[:3] == ("turn 1, 50 words", "turn 2, 250 words", "turn 3, 450 words")
    assert [call.at_s for call in plan.calls] == [0, None, None, 1, None, None]
    assert [call.user for call in plan.calls] == [0, 0, 0, 1, 1, 1]


def test_payloads_have_exactly_their_size() -> None:
    plan = plan_load(ConstantArrivals(rate_per_s=2), PayloadSizes(bytes_each=(100, 16_000)), seconds=1, run="a", seed=0)
    assert [len(call.body) for call in plan.calls] == [100, 16_000]
