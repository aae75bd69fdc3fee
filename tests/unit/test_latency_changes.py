"""Two stored latency studies compared: the difference of each figure, its interval, and what limits it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from latency_agent import Reply, ScriptedAgent
from latency_calls import calls
from new_store import new_store

from loomlib.latency import LatencyStudy, Silent, StudyResult
from loomlib.latency.floor import Floor
from loomlib.latency.study_changes import find_changes
from loomlib.latency.summaries import summarize
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path)


def studied(store: Store, median_ms: float, *, warm: int = 40, prompt: str = "Add.", cold: int = 0) -> StudyResult:
    chance = random.Random(median_ms)
    agent = ScriptedAgent(store, lambda _n, _l: Reply(duration_ms=median_ms * chance.lognormvariate(0, 0.1)))
    study = LatencyStudy(agent, cold=cold, warm=warm, sticky=0, prompt=prompt, find_starts=False)
    return StudyResult.load(store, study.run(Silent()).study_id)


def test_a_slower_study_says_by_how_much_with_its_interval(store: Store) -> None:
    changes = studied(store, 150).compare(studied(store, 100))
    (warm,) = changes.scenarios
    assert warm.p50.low is not None
    assert warm.p50.high is not None
    assert 40 < warm.p50.low < 50 < warm.p50.high < 60
    assert changes.sentences()[0].startswith("Warm calls at p50 take ")
    assert " more (95 % interval " in changes.sentences()[0]
    assert "ComparisonStudy calls two agents in turn" in changes.sentences()[-1]
    assert list(changes.table()["figure"]) == ["p50", "p90"]
    assert changes.summary()["scenarios"][0]["p50_difference_ms"]["n"] == 40


def test_equal_studies_show_no_change_and_other_prompts_are_named(store: Store) -> None:
    changes = studied(store, 100, prompt="Multiply.").compare(studied(store, 101))
    assert changes.sentences()[0].startswith("Warm calls at p50 show no change (")
    assert "The prompts differ, so a difference may come from them." in changes.sentences()


def test_too_few_calls_say_how_many_are_needed(store: Store) -> None:
    text = studied(store, 100, warm=20).compare(studied(store, 100)).sentences()[0]
    assert "the change of warm calls at p90 is unknown (20 answered in one study, 36 needed)" in text


def test_studies_without_a_common_scenario_are_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="no scenario in common"):
        studied(store, 100, warm=0, cold=6).compare(studied(store, 100, warm=6))


def test_two_studies_of_one_agent_rarely_differ() -> None:
    drawn, alarms = np.random.default_rng(8), 0
    for _ in range(200):
        first, second = (
            summarize(calls(warm=drawn.lognormal(4, 0.3, 40).tolist()), Floor(durations_ms=(0.5,) * 31))
            for _ in range(2)
        )
        (warm,) = find_changes(first, second, titles=("", "")).scenarios
        assert warm.p50.low is not None
        assert warm.p50.high is not None
        alarms += not warm.p50.low <= 0 <= warm.p50.high
    assert alarms <= 0.08 * 200
