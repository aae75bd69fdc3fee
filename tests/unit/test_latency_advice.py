"""How many calls a latency study needs, from the spread of a stored one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from latency_agent import Reply, ScriptedAgent
from new_store import new_store

from loomlib.errors import StudyError
from loomlib.latency import LatencyStudy, Scenario, Silent


@pytest.fixture
def agent(tmp_path: Path) -> ScriptedAgent:
    chance = random.Random(3)
    store = new_store(tmp_path)
    return ScriptedAgent(store, lambda _number, _labels: Reply(duration_ms=100 * chance.lognormvariate(0, 0.2)))


def test_a_pilot_tells_how_many_calls_each_scenario_needs(agent: ScriptedAgent) -> None:
    pilot = LatencyStudy(agent, cold=10, warm=12, sticky=3, find_starts=False).run(Silent())
    study = LatencyStudy(agent, cold=1, warm=1, sticky=0)
    advice = study.advice(within=0.2)
    assert advice.pilot == pilot.study_id
    assert set(advice.needed) == {Scenario.COLD, Scenario.WARM}
    counts = advice.counts()
    assert all(36 <= count <= 200 for count in counts.values())
    assert advice.sentence().startswith(f"For p90 within 20 %: about {counts['cold']} cold calls, about ")
    assert LatencyStudy(agent, sticky=0, **counts).design.cold == counts["cold"]
    assert (study.advice(within=0.1).needed[Scenario.COLD] or 0) > counts["cold"]
    assert "a difference of 30 % at p50 between two studies" in str(study.advice(p=0.5, difference=0.3))


def test_a_scenario_with_too_few_calls_in_the_pilot_is_unknown(agent: ScriptedAgent) -> None:
    LatencyStudy(agent, cold=10, warm=3, sticky=0, find_starts=False).run(Silent())
    advice = LatencyStudy(agent, cold=1, warm=1, sticky=0).advice()
    assert advice.unknown == (Scenario.WARM,)
    with pytest.raises(StudyError, match="too few answered calls"):
        advice.counts()


def test_without_an_earlier_study_a_pilot_is_asked_for(agent: ScriptedAgent) -> None:
    with pytest.raises(StudyError, match="pilot first"):
        LatencyStudy(agent).advice()
