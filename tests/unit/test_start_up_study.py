"""Session starts on both platforms, measured on two scripted agents whose starts are recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from latency_agent import ARN, Reply, ScriptedAgent
from new_store import new_store

from loomlib.errors import StudyError, StudyInterruptedError
from loomlib.experiments import Silent
from loomlib.latency import LatencyStudy
from loomlib.latency.start_up import StartUpResult, StartUpStudy
from loomlib.store import Store
from loomlib.telemetry.session_starts import SessionStartRecord

BOOT = {"preparation": 5, "boot": 100, "imports": 700, "first_ping": 10}
RESTORE = {"preparation": 5, "restore": 80, "network": 10, "first_ping": 5}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@dataclass
class StartingAgent(ScriptedAgent):
    """An agent whose first call of a session takes its start, 20 ms more, and the 10 ms of every other call."""

    platform_version: str = "V1"
    parts_ms: Mapping[str, int] | None = None
    kind: str = "boot"
    fails: Callable[[int], str | None] = lambda _call: None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.script = self.reply

    def reply(self, number: int, labels: Sequence[str]) -> Reply:
        session = self.made[-1][0]
        is_first = sum(made_in == session for made_in, _ in self.made) == 1
        start_ms = sum((self.parts_ms or {"": 0}).values()) + 20 if is_first else 0
        return Reply(duration_ms=10 + start_ms, failure=self.fails(number))

    def session_starts(self, session_ids: Sequence[str]) -> dict[str, SessionStartRecord]:
        starts = {
            session_id: SessionStartRecord.read(
                {
                    "session_id": session_id,
                    "kind": self.kind,
                    "platform_version": self.platform_version,
                    "start_ns": 1_795_000_000_000_000_000,
                    "parts_ns": {name: ms * 1_000_000 for name, ms in (self.parts_ms or {}).items()},
                }
            )
            for session_id in session_ids
        }
        return {session_id: start for session_id, start in starts.items() if start is not None}


def agents(store: Store, **options: object) -> tuple[StartingAgent, StartingAgent]:
    shared = {"store": store, **options}
    v1 = StartingAgent(**{"arn": f"{ARN}1", "name": "sums_v1", "parts_ms": BOOT, **shared})  # type: ignore[arg-type]
    v2 = StartingAgent(
        **{"arn": f"{ARN}2", "name": "sums_v2", "parts_ms": RESTORE, "kind": "restore", **shared},  # type: ignore[arg-type]
        platform_version="V2",
    )
    return v1, v2


def test_each_part_has_its_median_and_the_parts_add_up_to_what_a_session_costs(store: Store) -> None:
    v1, v2 = agents(store)
    result = StartUpStudy(v1, v2, sessions=10, later_calls=2).run(Silent())
    table = result.table()
    assert list(table.index) == [
        *("preparation", "boot", "imports", "restore", "network", "first ping", "first request"),
        *("what a new session costs", "first call of a session", "later call", "sessions"),
    ]
    assert table.loc["imports", "V1 p50 [95 %] ms"].startswith("700")
    assert table.loc["imports", "V2 p50 [95 %] ms"] == "–"
    assert table.loc["restore", "V2 p90 [95 %] ms"].startswith("80")
    assert table.loc["what a new session costs", "V1 − V2 [95 %] ms"].startswith("715")
    assert table.loc["sessions", "V1 p50 [95 %] ms"] == "n = 10"
    for platform in result.summary()["platforms"]:
        means = [part["mean_ms"] for part in platform["parts"]]
        assert sum(means) == pytest.approx(platform["cost"]["mean_ms"])
        assert sum(part["share"] for part in platform["parts"]) == pytest.approx(1)
    for session in result.sessions:
        assert session.first_request_ms == pytest.approx(20)
    assert len(v1.made) == len(v2.made) == 30
    assert set(v1.ended) == {session for session, _ in v1.made}


def test_sessions_of_both_platforms_are_interleaved_in_blocks(store: Store) -> None:
    result = StartUpStudy(*agents(store), sessions=8, later_calls=1, seed=3).run(Silent())
    for block in range(8):
        pair = result.sessions[2 * block : 2 * block + 2]
        assert {session.platform for session in pair} == {"V1", "V2"}
        assert {session.block for session in pair} == {block}
    assert len({session.platform for session in result.sessions[::2]}) == 2


def test_the_views_of_a_result_are_sentences_a_page_json_and_a_chart(store: Store) -> None:
    StartUpStudy(*agents(store), sessions=6, later_calls=1, study_id="views").run(Silent())
    result = StartUpResult.load(store, "views")
    text = " ".join(result.sentences())
    assert "A new session costs 715 ms less on V2 than on V1" in text
    assert "On V2 a new session costs 120 ms at the median" in text
    assert "Where the time of a new session goes on V1: imports 83.8 %, boot 12 %" in text
    assert "No failures in 12 sessions." in text
    page = result._repr_html_().replace("\u00a0", " ")
    assert "<script" not in page
    assert "sums_v1 · DEFAULT on V1 and sums_v2 · DEFAULT on V2" in page
    assert "imports" in page
    assert json.loads(json.dumps(result.summary(), allow_nan=False))["format"] == "loom.start-up-study/1"
    bars = {bar.name: dict(zip(bar.y, bar.x, strict=True)) for bar in result.figures()["shares"].data}
    assert set(bars["imports"]) == {"V1"}
    assert set(bars["first ping"]) == {"V1", "V2"}
    for platform in ("V1", "V2"):
        assert sum(shares.get(platform, 0) for shares in bars.values()) == pytest.approx(1)
    assert result.findings() == []
    unclear = result.gate(150, allow_overload=True)  # six sessions do not bound a quartile above
    assert unclear.text.endswith("; about 13 sessions are needed to decide (there are 6).")
    assert result.gate(100, allow_overload=True).is_missed
    assert "sessions=6, later_calls=1" in result.method().run_again


def test_the_gate_can_be_decided_with_the_sessions_of_the_default(store: Store) -> None:
    result = StartUpStudy(*agents(store), later_calls=1, timeout_s=30).run(Silent())
    assert result.gate(150, allow_overload=True).outcome == "passed"
    assert "seed=0, timeout_s=30)" in result.method().run_again


ANSWERS = """
import uvicorn

async def app(scope, receive, send):
    while scope["type"] == "http" and (await receive()).get("more_body"):
        pass
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

uvicorn.run(app, port=8080)
"""


class ProcessAgent(StartingAgent):
    """A scripted agent whose process can be started directly."""

    def process_variables(self) -> dict[str, str]:
        return {}

    def request_body(self, prompt: str, session_id: str) -> bytes:
        return json.dumps({"prompt": prompt, "session": session_id}).encode()


def test_the_process_is_a_third_condition_with_intervals(store: Store, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(ANSWERS)
    v1 = ProcessAgent(arn=f"{ARN}1", name="sums_v1", parts_ms=BOOT, store=store)
    study = StartUpStudy(v1, agents(store)[1], sessions=6, later_calls=1, source=tmp_path, study_id="three")
    result = study.run(Silent())
    assert [session.failure for session in result.sessions] == [None] * 18
    text = " ".join(result.sentences())
    assert "started as “python agent.py” without AgentCore and without isolation, costs" in text
    assert "In comparison, a new session costs " in text
    assert "process to first ping" in text
    (process,) = result.summary()["process"]
    assert process["n"] == 6
    assert None not in (process["cost"]["p50_ms"]["low"], process["cost"]["p50_ms"]["high"])
    bars = {bar.name: dict(zip(bar.y, bar.x, strict=True)) for bar in result.figures()["shares"].data}
    assert set(bars["process to first ping"]) == {"python agent.py"}
    assert "source=FOLDER" in result.method().run_again
    assert result.findings() == []
    with pytest.raises(StudyError, match="can be started as a process"):
        StartUpStudy(*agents(store), source=tmp_path)


def test_a_session_with_a_failed_call_has_no_times(store: Store) -> None:
    v1, v2 = agents(store)
    v1.fails = lambda call: (
        "agent_error" if call < 4 else None
    )  # two first calls, then a later call of the third session
    v1.fails = lambda call: {0: "throttle", 2: "agent_error"}.get(call)  # a first call, and a second one
    result = StartUpStudy(v1, v2, sessions=8, later_calls=2).run(Silent())
    failed = [session for session in result.sessions if session.is_failed]
    assert [session.failure for session in failed] == ["throttle", "agent_error"]
    assert "Call 2 of the session failed" in (failed[1].error_message or "")
    assert {session.cost_ms for session in failed} == {None}
    table = result.table()
    assert table.loc["sessions", "V1 p50 [95 %] ms"] == "n = 6, 2 failed"
    assert table.loc["later call", "V1 p50 [95 %] ms"].startswith("10")
    assert "2 failures in 16 sessions: 1 throttle, 1 agent_error." in " ".join(result.sentences())


def test_where_no_start_is_recorded_only_the_cost_is_shown_and_the_method_says_so(store: Store) -> None:
    v1, v2 = agents(store, scope="aws", parts_ms=None)
    result = StartUpStudy(v1, v2, sessions=6, later_calls=1).run(Silent())
    table = result.table()
    assert list(table.index) == ["what a new session costs", "first call of a session", "later call", "sessions"]
    assert table.loc["what a new session costs", "V1 p50 [95 %] ms"].startswith("20")
    method = result.method()
    assert "AWS does not record the parts of a session's start" in " ".join(method.limits)
    assert "Imports" not in " ".join(method.notes)
    assert result.findings() == []
    assert len(result.figures()["shares"].data) == 0


def test_sessions_of_v2_that_booted_are_a_finding(store: Store) -> None:
    v1, v2 = agents(store)
    v2.kind, v2.parts_ms = "boot", BOOT
    result = StartUpStudy(v1, v2, sessions=2, later_calls=1).run(Silent())
    assert [finding.title for finding in result.findings()] == [
        "2 sessions of platform V2 booted instead of being restored"
    ]


def test_the_warm_up_hook_of_sessions_that_booted_is_no_part_of_the_first_request(store: Store) -> None:
    v1, v2 = agents(store)
    v2.kind, v2.parts_ms = "boot", {**BOOT, "warm_up": 40}
    result = StartUpStudy(v1, v2, sessions=10, later_calls=1).run(Silent())
    table = result.table()
    assert list(table.index)[3:6] == ["first ping", "warm-up hook", "first request"]
    assert table.loc["warm-up hook", "V2 p50 [95 %] ms"].startswith("40")
    assert table.loc["warm-up hook", "V1 p50 [95 %] ms"] == "–"
    assert table.loc["first request", "V2 p50 [95 %] ms"].startswith("20")
    assert "warm-up hook" in [trace.name for trace in result.figures()["shares"].data]


def test_a_stopped_study_starts_only_the_pending_sessions(store: Store) -> None:
    v1, v2 = agents(store)
    alive = v2.alive

    def refuse_after_five(call: int) -> str | None:
        return "transport" if call >= 5 else None

    v2.fails, v2.alive = refuse_after_five, lambda: False
    with pytest.raises(StudyInterruptedError):
        StartUpStudy(v1, v2, sessions=6, later_calls=1, study_id="stopped").run(Silent())
    before = {
        unit.position: unit.invocation_id for unit in StartUpResult.load(store, "stopped").sessions if unit.is_done
    }
    assert 0 < len(before) < 12
    v2.fails, v2.alive = lambda _call: None, alive
    result = StartUpStudy.resume(v1, v2, "stopped").run(Silent())
    assert result.state == "complete"
    assert before.items() <= {unit.position: unit.invocation_id for unit in result.sessions}.items()


def test_a_session_whose_later_call_meets_a_service_that_is_gone_stays_planned(store: Store) -> None:
    v1, v2 = agents(store)
    for agent in (v1, v2):
        agent.fails, agent.alive = (lambda call: "transport" if call == 1 else None), lambda: False
    planned = StartUpStudy(v1, v2, sessions=2, later_calls=1, study_id="gone")
    with pytest.raises(StudyInterruptedError):
        planned.run(Silent())
    assert {unit.state for unit in StartUpResult.load(store, "gone").sessions} == {"planned"}
    v1.fails = v2.fails = lambda _call: None
    assert all(unit.is_done for unit in StartUpStudy.resume(v1, v2, "gone").run(Silent()).sessions)


def test_a_study_refuses_agents_on_the_wrong_platform_and_other_agents_than_its_own(store: Store) -> None:
    v1, v2 = agents(store)
    with pytest.raises(StudyError, match="on platform V2"):
        StartUpStudy(v2, v1)
    StartUpStudy(v1, v2, sessions=1, later_calls=1, study_id="mine").run(Silent())
    other = StartingAgent(store=store, arn=f"{ARN}3", name="other", parts_ms=RESTORE, platform_version="V2")
    with pytest.raises(StudyError, match="other agents"):
        StartUpStudy.resume(v1, other, "mine").run(Silent())
    with pytest.raises(StudyError, match="not a latency study"):
        LatencyStudy.resume(v1, "mine")
    with pytest.raises(ValueError, match="at least 1"):
        StartUpStudy(v1, v2, sessions=0)
