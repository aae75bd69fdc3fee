"""SLOs: their text, and what a step says of them."""

from __future__ import annotations

import pytest

from loomlib.errors import InvalidSloError
from loomlib.latency.load.calls import LoadCall
from loomlib.latency.load.slo import DOES_NOT_HOLD, HOLDS, NOT_ENOUGH_CALLS, Slo
from loomlib.latency.load.step_figures import step_figures

TEXT = "p90 TTFT < 800 ms, errors < 1 %, cost < $0.02"


def _calls(durations_ms: list[float], failed: int = 0) -> list[LoadCall]:
    calls = [
        LoadCall(index=n, session_id="s", state="complete", intended_s=n / 10, sent_s=n / 10 + 0.001,
                 first_byte_s=n / 10 + ms / 2e3, done_s=n / 10 + ms / 1e3)
        for n, ms in enumerate(durations_ms)
    ]  # fmt: skip
    return calls + [
        LoadCall(index=n, session_id="s", state="failed", intended_s=n / 10, sent_s=n / 10, failure="throttle")
        for n in range(len(calls), len(calls) + failed)
    ]


@pytest.mark.parametrize(
    "text", [TEXT, "p99.9 duration < 900 ms, p50 chunk gap < 0.5 ms, errors <= 0 %", "cost < $0.00002"]
)
def test_the_text_of_an_slo_reads_back(text: str) -> None:
    assert Slo.parse(text).text == text
    assert Slo.parse(Slo.parse(text).text) == Slo.parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("median ttft at most 1.5 s and failures ≤ 0.5 percent", "p50 TTFT < 1500 ms, errors < 0.5 %"),
        ("P90 time to first token below 1,200 ms; cost under $20 per 1000 calls", "p90 TTFT < 1200 ms, cost < $0.02"),
    ],
)
def test_an_slo_can_be_written_in_several_ways(text: str, same: str) -> None:
    assert Slo.parse(text) == Slo.parse(same)


@pytest.mark.parametrize(
    ("text", "what", "position"),
    [
        ("", "condition is missing", 0),
        ("TTFT < 800 ms", "needs a percentile", 0),
        ("p90 TTFT < 800", "needs the unit", 14),
        ("p90 TTFT > 800 ms", "must set an upper limit", 9),
        ("errors < 1 %, p90 speed < 3 ms", "Unknown metric 'speed'", 18),
        ("p90 errors < 1 %", "no percentile", 0),
        ("errors < 1", "needs the unit %", 10),
        ("cost < 2", "US dollars", 8),
        ("p90 TTFT", "limit is missing", 8),
        ("p100 TTFT < 1 s", "below 100", 0),
        ("p90 TTFT < 1e999 ms", "must be finite", 11),
        ("p90 TTFT < 1e308 min", "must be finite", 11),
        ("p90 TTFT < 0 ms", "must be above 0", 11),
        ("cost < $1e999", "must be finite", 7),
        ("cost < $1e-323 per 1000 calls", "must be above 0", 7),
    ],
)
def test_bad_text_says_what_is_wrong_and_where(text: str, what: str, position: int) -> None:
    with pytest.raises(InvalidSloError, match=what) as raised:
        Slo.parse(text)
    assert raised.value.position == position
    assert "Try:" in str(raised.value)


def test_a_step_holds_fails_or_does_not_say() -> None:
    slo = Slo.parse("p90 duration < 100 ms, errors < 5 %")
    assert slo.evaluate(_calls([50.0] * 400)).outcome == HOLDS
    assert slo.evaluate(_calls([50.0, 150.0] * 200)).outcome == DOES_NOT_HOLD
    assert slo.evaluate(_calls([50.0] * 8)).outcome == NOT_ENOUGH_CALLS


def test_failed_calls_count_as_beyond_the_limit_and_never_enter_a_percentile() -> None:
    result = Slo.parse("p90 duration < 100 ms").evaluate(_calls([50.0] * 300, failed=100))
    assert result.outcome == DOES_NOT_HOLD
    assert result.objectives[0].figure.value == pytest.approx(50)


def test_figures_carry_the_schedule_lag_and_goodput_counts_good_calls() -> None:
    figures = step_figures(
        _calls([50.0, 150.0] * 100, failed=50), seconds=25, slo=Slo.parse("p90 duration < 100 ms"), cpu_s=0.25
    )
    assert figures.offered_per_s == figures.made_per_s == 10
    assert figures.goodput is not None
    assert figures.goodput.estimate.value == pytest.approx(4)
    assert figures.failures == {"throttle": 50}
    assert figures.duration[0.5].lag.p50_ms == pytest.approx(1)
    assert "late" in figures.duration[0.5].text
    assert figures.cpu_ms_per_call == pytest.approx(1)
