"""Stopping a study early: intervals that hold at every look, and studies that stop at the same call after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from latency_agent import Reply, ScriptedAgent
from new_store import new_store

from loomlib.errors import StudyInterruptedError
from loomlib.latency import LatencyStudy, Silent
from loomlib.statistics import StoppingRule, sequence_percentile, sequence_share
from loomlib.statistics.sequential import SEQUENCE_METHOD
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


def test_a_share_leaves_its_sequence_at_any_look_in_at_most_one_study_in_twenty() -> None:
    random = np.random.default_rng(7)
    missed = 0
    for _ in range(200):
        hits = np.cumsum(random.random(400) < 0.1)
        looks = (sequence_share(int(hits[n - 1]), n) for n in (5, 10, 20, 40, 80, 160, 300, 400))
        missed += any(not (look.low or 0) <= 0.1 <= (look.high or 0) for look in looks)
    assert missed <= 0.05 * 200


def test_a_percentile_leaves_its_sequence_in_at_most_one_study_in_twenty_also_with_ties() -> None:
    random = np.random.default_rng(8)
    for rounded in (False, True):
        missed = 0
        for _ in range(100):
            values = random.exponential(10.0, 400)
            values, truth = (np.ceil(values), np.ceil(23.0259)) if rounded else (values, 23.0259)
            for n in (10, 20, 40, 80, 160, 300, 400):
                look = sequence_percentile(values[:n], 0.9, tuned_for=200)
                if (look.low or 0) > truth or (not look.open_above and (look.high or 0) < truth):
                    missed += 1
                    break
        assert missed <= 5


def test_a_rule_that_cannot_be_read_is_refused() -> None:
    assert StoppingRule.parse("p99.5 within 5%") == StoppingRule(p=0.995, within=0.05)
    with pytest.raises(ValueError, match="a rule must read"):
        StoppingRule.parse("median soon")


def test_a_study_stops_when_the_interval_is_narrow_enough_and_says_so(store: Store) -> None:
    agent = ScriptedAgent(store, lambda number, _labels: Reply(100 + number % 5))
    result = LatencyStudy(agent, cold=200, warm=0, sticky=0, until="p50 within 10 %").run(Silent())
    assert len(agent.timed()) == len(result.calls) < 60
    assert result.state == "complete"
    assert any(text.startswith(f"Stopped after {len(result.calls)} of 200") for text in result.sentences())
    # Figures and gates have the intervals that hold after an early end, not those of a fixed size.
    (cold,) = result.estimates().scenarios
    assert {estimate.method for estimate in (cold.p50, cold.p90, cold.ttft_p50, cold.failure_share)} == {
        SEQUENCE_METHOD
    }
    gate = result.gate(1_000, "cold", allow_overload=True)
    assert gate.figure == cold.p90


def test_a_study_that_was_stopped_by_its_budget_ends_at_the_same_call(store: Store) -> None:
    design = {"cold": 200, "warm": 0, "sticky": 0, "until": "p50 within 10 %", "find_starts": False}
    script = lambda number, _labels: Reply(100 + number % 5)  # noqa: E731
    straight = LatencyStudy(ScriptedAgent(store, script), **design).run(Silent())
    agent = ScriptedAgent(store, lambda number, labels: Reply(100 + number % 5, delay_s=0.01))
    study = LatencyStudy(agent, **design)
    with pytest.raises(StudyInterruptedError):
        study.run(Silent(), budget_s=0.05)
    resumed = LatencyStudy.resume(agent, study.study_id).run(Silent())
    assert len(resumed.calls) == len(straight.calls) == len(agent.timed())
