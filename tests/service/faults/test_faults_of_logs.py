"""Logs that never come, and an agent whose clock is five seconds off: states and ranges, never a wrong number."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fault_lab import FaultLab

import loomlib as loom
from loomlib.latency import LatencyStudy, Scenario, Silent

NEGATIVE = re.compile(r"[-−]\s?\d[\d\s ]*(\.\d+)?\s*(ms|s)\b")


def test_logs_that_never_come_are_a_state_and_not_a_zero(
    build: Callable[..., FaultLab], monkeypatch: pytest.MonkeyPatch
):
    lab = build(log_delay_s=3_600.0)
    local_agent = lab.deploy(lab.open())
    for name, value in local_agent.context.environment.environment().items():
        monkeypatch.setenv(name, value)
    agent = lab.open("aws", log_poll_attempts=2, log_poll_interval_s=0.1).register(local_agent.arn)

    inv = agent.invoke("?")
    looks: list[str] = []
    start = inv.latency(progress=looks.append)
    assert start.state in ("not_found_yet", "no_logs")
    assert (start.start_time, start.cold_start_latency_ms, start.low_ms, start.high_ms) == (None,) * 4
    assert len(looks) == 3
    assert agent.history.last().record.cold_start_latency_ms is None
    assert "ms" not in start.sentence()

    result = LatencyStudy(agent, cold=2, warm=2, sticky=0).run(Silent())
    assert result.state == "complete"
    assert {call.start_state for call in result.calls} <= {"not_found_yet", "no_logs"}
    assert all(call.start_latency_ms is None for call in result.calls)
    for scenario in result.estimates().scenarios:
        assert (scenario.n, scenario.start.value) == (2, None)
        assert sum(scenario.start_states.values()) == 2
    assert set(result.table()["start p50 ms"]) <= {"not found yet", "no logs"}
    assert not any("before the agent starts" in sentence for sentence in result.sentences())
    assert result.measurements()["start_latency_ms"].isna().all()
    assert any(finding.kind == "start_states" or "start" in finding.title.lower() for finding in result.findings())


@pytest.mark.parametrize("skew_s", ["5", "-5"])
def test_a_clock_five_seconds_off_is_reported_and_the_true_start_is_in_the_range(
    lab: FaultLab, bench: loom.Workbench, skew_s: str
):
    agent = lab.deploy(bench, SKEW_S=skew_s)
    first = agent.invoke("?")
    agent.invoke("?", session_id=first.session_id)
    start = first.latency()
    assert start.state == "found"
    assert start.clocks_disagree
    assert start.start_time is not None
    assert first.started_at is not None
    assert start.low_ms is not None
    assert start.high_ms is not None
    true_ms = (start.start_time - first.started_at).total_seconds() * 1000 - float(skew_s) * 1000
    assert 0 <= start.low_ms <= true_ms <= start.high_ms <= (first.duration_ms or 0)
    sentence = start.sentence()
    assert "disagree" in sentence
    assert not NEGATIVE.search(sentence)


@pytest.mark.parametrize("skew_s", ["5", "-5"])
def test_a_study_of_an_agent_with_a_wrong_clock_shows_no_impossible_latency(
    lab: FaultLab, bench: loom.Workbench, skew_s: str
):
    agent = lab.deploy(bench, SKEW_S=skew_s)
    result = LatencyStudy(agent, cold=6, warm=6, sticky=0).run(Silent())
    assert {call.start_state for call in result.calls} == {"found"}
    clocks = result.estimates().clocks
    assert clocks is not None
    assert not clocks.allows_agreement
    assert clocks.low_ms <= float(skew_s) * 1000 <= clocks.high_ms

    (cold,) = [scenario for scenario in result.estimates().scenarios if scenario.scenario is Scenario.COLD]
    assert cold.longest_ms is not None
    for scenario in result.estimates().scenarios:
        assert scenario.start.value is None or 0 <= scenario.start.value <= (scenario.longest_ms or 0)
    cost = result.estimates().session_cost
    assert cost is not None
    assert cost.estimate.value is not None
    assert 0 < cost.estimate.value < cold.longest_ms, "a constant offset of the clocks cancels in a difference"
    texts = [*result.sentences(), result.table().to_string(), *(finding.title for finding in result.findings())]
    assert not any(NEGATIVE.search(text) for text in texts), texts
    assert not re.search(r"[-−]\d", result.table()["start p50 ms"].str.cat(sep=" "))
    assert any("clock" in (finding.title + finding.evidence).lower() for finding in result.findings())
