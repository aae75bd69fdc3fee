from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.local.contract import SessionLimitError
from loomlib.local.quotas import QuotaKeeper, Quotas


def refused(call: Callable[[], None]) -> str:
    try:
        call()
    except SessionLimitError as limit:
        return limit.kind
    return ""


def test_aws_s_figures_depend_on_the_region() -> None:
    assert Quotas.of("aws", "us-east-1") == Quotas(sessions_per_minute=100, invocations_per_s=50, active_sessions=1000)
    assert Quotas.of("aws", "eu-west-1").active_sessions == 500
    assert Quotas.of("none", "us-east-1") == Quotas()


@pytest.mark.parametrize("text", ["", "some", "sessions_per_minute", "sessions_per_minute=x", "colour=1"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="quotas must be"):
        Quotas.of(text, "us-east-1")


def test_calls_are_counted_for_each_endpoint_and_second() -> None:
    now = 100.0
    keeper = QuotaKeeper(Quotas(invocations_per_s=2), lambda: now)
    outcomes = [refused(lambda: keeper.admit_call("r", "DEFAULT")) for _ in range(3)]
    assert outcomes == ["", "", "throttle"]
    assert refused(lambda: keeper.admit_call("r", "prod")) == ""
    now = 101.0
    assert refused(lambda: keeper.admit_call("r", "DEFAULT")) == ""


def test_new_sessions_are_counted_for_each_minute_and_active_ones_at_once() -> None:
    now = 0.0
    keeper = QuotaKeeper(Quotas(sessions_per_minute=2, active_sessions=10), lambda: now)
    assert refused(lambda: keeper.admit_session("r", "DEFAULT", 10)) == "quota"
    assert [refused(lambda: keeper.admit_session("r", "DEFAULT", 0)) for _ in range(3)] == ["", "", "throttle"]
    now = 60.0
    assert refused(lambda: keeper.admit_session("r", "DEFAULT", 9)) == ""


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 5))
def test_no_second_ever_has_more_calls_than_the_limit(steps: list[float], limit: int) -> None:
    now, admitted = 0.0, []
    keeper = QuotaKeeper(Quotas(invocations_per_s=limit), lambda: now)
    for step in steps:
        now += step
        if not refused(lambda: keeper.admit_call("r", "DEFAULT")):
            admitted.append(now)
    assert all(sum(start - 1 < moment <= start for moment in admitted) <= limit for start in admitted)
