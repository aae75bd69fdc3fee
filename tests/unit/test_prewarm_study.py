"""Pre-warmed sessions, measured on a scripted agent whose session ends when nobody calls it for a while."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from latency_agent import Reply, ScriptedAgent
from new_store import new_store

from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.experiments import Silent
from loomlib.latency import LatencyStudy
from loomlib.latency.prewarm import PrewarmResult, PrewarmStudy
from loomlib.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


class IdleAgent(ScriptedAgent):
    """An agent whose session ends in every gap without pings: the next call takes 300 ms, after a ping 10 ms."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.script = self.reply

    def reply(self, number: int, labels: Sequence[str]) -> Reply:
        session = self.made[-1][0]
        earlier = [labels for made_in, labels in self.made[:-1] if made_in == session]
        return Reply(duration_ms=10 if earlier and "ping" in earlier[-1] else 300)


def study(agent: ScriptedAgent, **options: object) -> PrewarmStudy:
    values = {"idle_timeout_s": 0.3, "gap_s": 0.4, "ping_every_s": (0, 0.1), "gaps": 6} | options
    return PrewarmStudy(agent, **values)  # type: ignore[arg-type]


def test_pings_save_the_cold_start_after_an_idle_gap(store: Store) -> None:
    agent = IdleAgent(store)
    result = study(agent).run(Silent())
    kinds = Counter(labels[1] for _, labels in agent.made)
    assert (kinds["opening"], kinds["timed"]) == (12, 12)
    assert kinds["ping"] == sum(len(call.pings_ms) for call in result.calls) > 6
    assert {call.duration_ms for call in result.calls if not call.ping_every_s} == {300.0}
    table = result.table()
    assert table.index.tolist() == ["no ping", "ping every 0.1 s"]
    assert "A ping every 0.1 s saves 290 ms on the first call after an idle gap of 0.40 s" in " ".join(
        result.sentences()
    )
    assert "AgentCore's is 60 s or more" in " ".join(result.sentences())
    assert set(agent.ended) == {session for session, _ in agent.made}


def test_the_views_of_a_result_are_a_page_json_and_a_chart(store: Store) -> None:
    study(IdleAgent(store), study_id="views").run(Silent())
    result = PrewarmResult.load(store, "views")
    page = result._repr_html_()
    assert "Seconds stand for minutes" in page
    assert "<script" not in page
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["format"] == "loom.prewarm-study/1"
    assert summary["arms"][1]["session_s_per_gap"] == 0.4
    assert summary["arms"][0]["session_s_per_gap"] == 0.3
    assert summary["arms"][1]["memory_usd_per_1000_gaps"] > summary["arms"][0]["memory_usd_per_1000_gaps"] > 0
    assert [len(trace.x) for trace in result.figures()["calls"].data] == [6, 6]
    assert result.findings() == []
    assert result.gate(100, allow_overload=True).outcome == "passed"
    assert result.gate(100, 0, allow_overload=True).is_missed


def test_a_stopped_study_measures_only_the_pending_gaps(store: Store) -> None:
    agent = IdleAgent(store)
    # A call of the first two gaps takes the whole budget, however busy the machine is before it.
    agent.script = lambda number, _: Reply(delay_s=3.0 if number == 2 else 0.0)
    planned = study(agent, study_id="stopped", gap_s=0.15, ping_every_s=(0, 0.05))
    with pytest.raises(StudyInterruptedError, match=r"PrewarmStudy\.resume"):
        planned.run(Silent(), budget_s=3.0)
    before = {call.position: call.invocation_id for call in planned.result().calls if call.is_done}
    assert 0 < len(before) < 12
    agent.script = lambda *_: Reply()
    result = PrewarmStudy.resume(agent, "stopped").run(Silent())
    assert result.state == "complete"
    assert before.items() <= {call.position: call.invocation_id for call in result.calls}.items()


def test_a_session_that_cannot_be_opened_while_the_service_is_gone_stays_planned(store: Store) -> None:
    agent = IdleAgent(store, alive=lambda: False)
    agent.script = lambda number, _: Reply(failure="transport" if number >= 4 else None)
    planned = study(agent, study_id="gone", gap_s=0.1, ping_every_s=(0,))
    with pytest.raises(StudyInterruptedError, match=r"PrewarmStudy\.resume"):
        planned.run(Silent())
    assert Counter(call.state for call in planned.result().calls) == {"done": 2, "planned": 4}
    agent.script = lambda _number, _labels: Reply()
    assert all(call.is_done for call in PrewarmStudy.resume(agent, "gone").run(Silent()).calls)


def test_the_pings_of_failed_gaps_are_not_counted_for_the_answered_ones(store: Store) -> None:
    class FailingAgent(IdleAgent):
        def reply(self, number: int, labels: Sequence[str]) -> Reply:
            is_failed = "timed" in labels and len(self.timed()) % 2 == 0
            return Reply(failure="agent_error" if is_failed else None)

    result = study(FailingAgent(store), gap_s=0.4, ping_every_s=(0.25,), gaps=6).run(Silent())
    assert sum(call.is_failed for call in result.calls) == 3
    assert [len(call.pings_ms) for call in result.calls] == [1] * 6
    assert result.table()["pings"].tolist() == ["1"]


def test_failed_pings_are_a_finding_and_nothing_is_concluded_from_gaps_without_an_answered_one(store: Store) -> None:
    agent = IdleAgent(store)
    agent.script = lambda _number, labels: Reply(failure="throttle" if "ping" in labels else None)
    result = study(agent, gap_s=0.4, ping_every_s=(0, 0.25), gaps=2).run(Silent())
    pings = [(call.pings_ms, call.failed_pings) for call in result.calls if call.ping_every_s]
    assert pings == [((), ("throttle",))] * 2
    (finding,) = result.findings()
    assert (finding.kind, finding.evidence) == ("failed pings", "2 of 2 pings failed: 2 throttle")
    assert (
        "None of the pings of “ping every 0.25 s” was answered (2 of 2 pings failed: 2 throttle): "
        "what they save is unknown."
    ) in result.sentences()


def test_the_code_that_runs_the_study_again_has_its_settings(store: Store) -> None:
    options = {"ping_prompt": "do not answer", "memory_gb": 4, "timeout_s": 30}
    method = study(IdleAgent(store), gaps=1, gap_s=0.15, ping_every_s=(0,), **options).run(Silent()).method()
    assert "ping_prompt='do not answer', memory_gb=4, seed=0, timeout_s=30" in method.run_again


def test_a_gap_that_cannot_end_a_session_is_a_finding(store: Store) -> None:
    result = study(IdleAgent(store), gaps=1, idle_timeout_s=60, gap_s=0.2).run(Silent())
    assert [finding.kind for finding in result.findings()] == ["short gap"]
    assert not result.design.is_scaled


def test_the_method_names_the_isolation_of_sessions_once(store: Store) -> None:
    labels = ("local AgentCore", "sessions: bubblewrap, network open")
    for planned in (
        study(IdleAgent(store, labels=labels), gaps=1, gap_s=0.15, ping_every_s=(0,)),
        LatencyStudy(ScriptedAgent(store, labels=labels), cold=1, warm=1, sticky=0, find_starts=False),
    ):
        method = planned.run(Silent()).method()
        isolation_lines = [line for line in (*method.notes, *method.limits) if "bubblewrap" in line]
        assert isolation_lines == ["Isolation of sessions: bubblewrap, network open."]
    unlabelled = study(IdleAgent(store, labels=()), gaps=1, gap_s=0.15, ping_every_s=(0,)).run(Silent()).method()
    assert "Isolation" not in " ".join((*unlabelled.notes, *unlabelled.limits))


@pytest.mark.parametrize(("platform", "is_named"), [("V1", True), ("V2", False)])
def test_the_pause_in_the_second_call_of_a_session_is_named_on_v1(store: Store, platform: str, is_named: bool) -> None:
    class PlatformAgent(IdleAgent):
        platform_version = platform

    method = study(PlatformAgent(store), gaps=1, gap_s=0.15, ping_every_s=(0,)).run(Silent()).method()
    assert any(f"platform {platform}" in note for note in method.notes)
    assert any("first full garbage collection" in limit for limit in method.limits) == is_named


def test_a_study_is_resumed_by_its_own_class_only(store: Store) -> None:
    study(IdleAgent(store), study_id="mine", gaps=1, gap_s=0.15, ping_every_s=(0,)).run(Silent())
    with pytest.raises(StudyError, match="not a latency study"):
        LatencyStudy.resume(ScriptedAgent(store), "mine")
    with pytest.raises(ValueError, match=r"less than gap_s, which is 0\.4 s"):
        study(ScriptedAgent(store), ping_every_s=(0, 0.5))
