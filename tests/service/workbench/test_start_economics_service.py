"""The economics of starts from a study on the local service, with the CPU time and memory that its usage log states."""

from __future__ import annotations

from datetime import datetime

import pytest

import loomlib as loom
from loomlib.errors import StudyError
from loomlib.experiments import Silent
from loomlib.latency.economics import SessionTraffic, StartPolicy, ThinkTimes

TRAFFIC = SessionTraffic(sessions_per_day=1000, calls_per_session=4, think=ThinkTimes.exponential(60))


@pytest.fixture(scope="module")
def agent(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("echo", name="priced_echo", platform_version="V1")


def test_a_stored_latency_study_is_priced_by_its_usage_log(bench: loom.Workbench, agent: loom.Agent) -> None:
    study = loom.LatencyStudy(agent, cold=6, warm=6, sticky=0, find_starts=False)
    study.run(Silent())
    for moment in ("answer", "first byte"):
        economics = bench.telemetry.start_economics(
            study.study_id, TRAFFIC, policies=[StartPolicy(idle_timeout_s=60)], moment=moment
        )
        (outcome,) = economics.outcomes
        assert outcome.platform == "V1"
        assert outcome.usd.low is not None
        assert 0 < outcome.usd.low <= (outcome.usd.value or 0)
        (measured,) = economics.measured
        assert "local AgentCore" in measured.use_basis
        cold, warm = ([call.vcpu_s or 0 for call in calls] for calls in (measured.cold, measured.warm))
        assert min(cold) > max(warm) > 0, "a cold call on V1 includes the imports of its process"
        assert economics.is_simulated


def test_the_traffic_of_an_agent_is_that_of_its_stored_calls_without_studies(agent: loom.Agent) -> None:
    session = "economics-of-starts-session-0000000001"
    for _ in range(3):
        assert agent.invoke("Hello", session_id=session).ok
    traffic = agent.telemetry.traffic()
    assert (traffic.sessions_per_day, traffic.calls_per_session) == (1.0, 3.0)
    assert len(traffic.think.observed_s) == 2
    with pytest.raises(ValueError, match="since needs a time zone"):
        agent.telemetry.traffic(datetime(2026, 1, 1))
    agent.end_session(session)


def test_an_unknown_study_is_named(bench: loom.Workbench) -> None:
    with pytest.raises(StudyError, match="No study with this id is stored"):
        bench.telemetry.start_economics("nowhere", TRAFFIC)
