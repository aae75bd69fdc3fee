"""Scenarios whose calls are of two kinds: the share of each, its percentiles, and every place that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from latency_agent import Reply, ScriptedAgent
from latency_calls import calls
from new_store import new_store

from loomlib.latency import LatencyStudy, Scenario, Silent
from loomlib.latency.mixtures import Mixture, find_mixture
from loomlib.latency.stopping import StudyIntervals

INTERVALS = StudyIntervals()


@dataclass
class AgentWithLogs(ScriptedAgent):
    """An agent whose logs say that every tenth call started a process, and that the first one is not known."""

    def process_starts(self, invocation_ids: Sequence[int]) -> Mapping[int, bool]:
        return {id: place % 10 == 5 for place, id in enumerate(invocation_ids) if place}


def mixture(durations: Sequence[float], start_states: Sequence[bool | None] = ()) -> Mixture | None:
    measurements = calls(warm=durations)
    with_starts = [
        replace(call, started_process=state) for call, state in zip(measurements, start_states, strict=False)
    ]
    return find_mixture([*with_starts, *measurements[len(with_starts) :]], INTERVALS)


def test_calls_that_started_a_process_are_separated_from_the_others_whatever_they_took() -> None:
    groups = mixture([10.0, 12.0, 11.0, 13.0] * 5, [True, False, False, None] * 5)
    assert groups is not None
    assert groups.is_by_starts
    assert (groups.slow.n, groups.fast.n, groups.unknown) == (5, 10, 5)
    assert groups.slow.share.value == pytest.approx(1 / 3)
    assert groups.slow.durations_ms == (10.0,) * 5
    assert groups.fast.p50.value == pytest.approx(11.5)


def test_calls_of_one_kind_are_no_mixture() -> None:
    steady = np.random.default_rng(1).lognormal(3, 0.2, 30).tolist()
    assert mixture(steady) is None
    assert mixture(steady, [True] * 30) is None
    assert mixture(steady, [False] * 15) is None


def test_a_gap_shows_a_mixture_where_the_logs_tell_nothing() -> None:
    groups = mixture([300.0 + k for k in range(12)] + [2000.0 + k for k in range(4)])
    assert groups is not None
    assert not groups.is_by_starts
    assert (groups.fast.label, groups.slow.label, groups.slow.n) == ("up to 311 ms", "from 2 s", 4)
    assert groups.sentence("cold").startswith(
        "4 of 16 cold calls belong to a slower group, 25 % of them (95 % interval "
    )
    assert "these take between 2 s and 2.00 s, the faster ones 306 ms" in groups.sentence("cold")


def test_the_share_of_cold_calls_is_within_its_interval_in_about_95_percent_of_studies() -> None:
    random, hits = np.random.default_rng(4), 0
    for _ in range(300):
        is_cold = random.random(60) < 0.2
        durations = np.where(is_cold, random.lognormal(5, 0.3, 60), random.lognormal(3, 0.3, 60)).tolist()
        groups = mixture(durations, [bool(state) for state in is_cold])
        assert groups is not None
        assert groups.slow.share.low is not None
        assert groups.slow.share.high is not None
        hits += groups.slow.share.low <= 0.2 <= groups.slow.share.high
    assert hits >= 0.91 * 300


def test_a_study_shows_a_mixture_in_its_sentences_table_findings_chart_and_summary(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    agent = AgentWithLogs(store, lambda number, _labels: Reply(duration_ms=10.0 + number % 3))
    result = LatencyStudy(agent, cold=0, warm=21, sticky=0, find_starts=True).run(Silent())
    (warm,) = result.estimates().scenarios
    assert warm.mixture is not None
    assert (warm.mixture.slow.n, warm.mixture.fast.n, warm.mixture.unknown) == (2, 18, 1)
    assert any("2 of 20 warm calls started a new process" in text for text in result.sentences())
    rows = [row[0] for row in result.text_table().rows]
    assert rows[0] == "warm (mixture)"
    assert rows[1].startswith("warm, started a process: 10 %")
    assert rows[2].startswith("warm, found a running process: 90 %")
    (finding,) = [one for one in result.findings() if one.kind == "mixture"]
    assert finding.title == "2 of 20 warm calls started a new process"
    assert "; unknown for 1 call" in finding.evidence
    names = [trace.name for trace in result.figures()["distribution"].data]
    assert any("started a process" in name for name in names)
    (summary,) = result.summary()["scenarios"]
    assert summary["mixture"]["slow"]["share"]["n"] == 20
    assert result.measurements()["started_process"].sum() == 2


def test_a_cold_call_that_found_a_process_is_named_as_such() -> None:
    measurements = calls(cold=[300.0] * 10 + [20.0] * 5)
    with_starts = [replace(call, started_process=place < 10) for place, call in enumerate(measurements)]
    groups = find_mixture(with_starts, INTERVALS)
    assert groups is not None
    assert groups.sentence(Scenario.COLD.value).startswith("10 of 15 cold calls started a new process, 66.7 % of them")
