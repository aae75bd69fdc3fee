"""Protocol overhead, measured on scripted callers: what is compared, what is left out, and what a failure is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from latency_agent import ScriptedAgent
from new_store import new_store

import loomlib as loom
from loomlib.agents.protocols.ways import SERVERS, WayAnswer
from loomlib.aws.wire import WireBytes
from loomlib.errors import StudyError, StudyInterruptedError, TransportError
from loomlib.experiments import Silent
from loomlib.latency.protocol_overhead import ProtocolResult
from loomlib.store import Store

EXTRA_MS = {"HTTP JSON": 0.0, "HTTP SSE": 0.0, "WebSocket": -4.0, "A2A message/send": 6.0, "A2A message/stream": 9.0}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as opened:
        yield opened


@dataclass
class ScriptedWays:
    """Implements `AgentWithWays`: its ways answer after 20 ms and their extra, which rises from call to call."""

    store: Store
    failing: Sequence[str] = ()
    refusing: Sequence[str] = ()
    alive: bool = True
    answers: int | None = None
    """How many timed calls are answered before the service is gone; None for all."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    target: ScriptedAgent = field(init=False)

    def __post_init__(self) -> None:
        self.target = ScriptedAgent(self.store, alive=lambda: self.alive)

    @property
    def targets(self) -> ScriptedAgent:
        return self

    def study_target(self) -> ScriptedAgent:
        return self.target

    def way_caller(self, way: str, session_id: str, *, tool: str = "ask") -> ScriptedCaller:
        return ScriptedCaller(self, way)


@dataclass
class ScriptedCaller:
    agent: ScriptedWays
    way: str

    async def open(self) -> None:
        if self.way in self.agent.refusing:
            raise TransportError("No connection", on=self.way)

    async def ask(self, prompt: str, *, labels: Sequence[str] = (), timeout_s: float | None = None) -> WayAnswer:
        self.agent.asked.append((self.way, labels[1]))
        if self.way in self.agent.failing and "timed" in labels:
            return WayAnswer(failure="agent_error", error="The tool failed")
        timed_count = sum(label == "timed" for _, label in self.agent.asked)
        if self.agent.answers is not None and timed_count > self.agent.answers:
            return WayAnswer(failure="transport", error="Connection refused")
        duration = 20 + EXTRA_MS[self.way] + len(self.agent.asked) / 100
        is_json = self.way == "HTTP JSON"
        return WayAnswer(
            text="2 + 2 = 4.",
            duration_ms=duration,
            first_byte_ms=duration / 2,
            first_event_ms=duration / 2,
            first_text_ms=duration if is_json else duration / 2,
            events=1 if is_json else 5,
            wire=WireBytes(100, 40 if is_json else 400),
            connection_reused=True,
        )

    async def close(self) -> None:
        self.agent.closed.append(self.way)


def agents(store: Store, **options: object) -> dict[str, ScriptedWays]:
    agent = ScriptedWays(store, **options)  # type: ignore[arg-type]
    return {"HTTP": agent, "A2A": agent}


def test_every_way_is_compared_with_http_json_and_missing_servers_are_stated(store: Store) -> None:
    agents_by_protocol = agents(store)
    result = loom.ProtocolStudy(agents_by_protocol, repeats=8).run(Silent())
    call_counts = Counter(agents_by_protocol["HTTP"].asked)
    assert call_counts == {
        (way, kind): 8 if kind == "timed" else 2 for way in EXTRA_MS for kind in ("timed", "opening")
    }
    assert sorted(agents_by_protocol["HTTP"].closed) == sorted(EXTRA_MS)
    table = result.table()
    assert table.index.tolist() == list(EXTRA_MS)
    assert table["− HTTP JSON [95 %] ms"]["HTTP JSON"] == "–"
    text = " ".join(result.sentences())
    assert "Slower than that: A2A message/send (+6" in text
    assert "Faster than that: WebSocket (−4" in text
    assert (
        "Not measured, because no agent was given: MCP stateless, MCP stateful, AG-UI SSE and AG-UI WebSocket" in text
    )
    assert "No failures in 40 calls." in text
    sizes = result.sizes()
    assert sizes["framing [95 %]"]["HTTP JSON"].startswith("75 %")
    assert sizes["both − HTTP JSON [95 %] B"]["A2A message/send"].startswith("360")


def test_a_way_that_fails_is_counted_and_has_no_figures(store: Store) -> None:
    result = loom.ProtocolStudy(agents(store, failing=["A2A message/send"], refusing=["WebSocket"]), repeats=6).run(
        Silent()
    )
    for way, failure in (("A2A message/send", "agent_error"), ("WebSocket", "transport")):
        calls = [call for call in result.calls if call.way == way]
        assert {(call.state, call.failure, call.duration_ms, call.received) for call in calls} == {
            ("failed", failure, None, None)
        }
    assert result.table()["failed"].to_dict()["A2A message/send"] == "6"
    assert result.table()["answer p50 [95 %] ms"]["WebSocket"] == "n too small"
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["format"] == "loom.protocol-overhead/1"
    ways = {way["way"]: way for way in summary["ways"]}
    assert ways["WebSocket"]["failed"] == 6
    assert ways["WebSocket"]["duration_ms"]["value"] is None
    assert ways["WebSocket"]["extra_ms"]["value"] is None
    assert [finding["title"] for finding in summary["findings"]] == [
        "WebSocket was never answered", "A2A message/send was never answered",
    ]  # fmt: skip
    assert "12 failures in 30 calls: " in " ".join(result.sentences())


def test_the_page_has_both_tables_and_the_charts_every_way(store: Store) -> None:
    study = loom.ProtocolStudy(agents(store), repeats=6, study_id="views")
    study.run(Silent())
    result = ProtocolResult.load(store, "views")
    page = result._repr_html_().replace("\u00a0", " ")
    assert "<script" not in page
    assert "first text [95 %] ms" in page
    assert "framing [95 %]" in page
    assert "the model is simulated" in page.lower()
    figures = result.figures()
    assert sum(len(trace.x) for trace in figures["times"].data) == 30
    assert [trace.name for trace in figures["bytes"].data] == ["sent", "received: framing", "received: text"]


def test_a_study_whose_service_is_gone_stops_and_resumes(store: Store) -> None:
    unreachable = agents(store, refusing=list(EXTRA_MS), alive=False)
    with pytest.raises(StudyInterruptedError, match=r"ProtocolStudy\.resume"):
        loom.ProtocolStudy(unreachable, repeats=2, study_id="stopped").run(Silent())
    result = loom.ProtocolStudy.resume(agents(store), "stopped").run(Silent())
    assert result.state == "complete"
    assert sum(call.is_done for call in result.calls) == 10


def test_a_call_that_the_absent_service_never_answered_stays_planned(store: Store) -> None:
    planned = loom.ProtocolStudy(agents(store, answers=5, alive=False), repeats=2, study_id="gone")
    with pytest.raises(StudyInterruptedError, match=r"ProtocolStudy\.resume"):
        planned.run(Silent())
    assert Counter(call.state for call in planned.result().calls) == {"done": 5, "planned": 5}
    result = loom.ProtocolStudy.resume(agents(store), "gone").run(Silent())
    assert "No failures in 10 calls." in result.sentences()


def test_the_code_that_runs_the_study_again_has_its_settings(store: Store) -> None:
    result = loom.ProtocolStudy(agents(store), repeats=1, tool="calculate", warm_ups=1, timeout_s=30).run(Silent())
    assert "tool='calculate', warm_ups=1, seed=0, timeout_s=30" in result.method().run_again


def test_a_study_is_resumed_with_its_own_agents_only(store: Store) -> None:
    loom.ProtocolStudy(agents(store), repeats=1, study_id="mine").run(Silent())
    with pytest.raises(StudyError, match="differs in its agents"):
        loom.ProtocolStudy.resume({"HTTP": ScriptedWays(store)}, "mine").run(Silent())


def test_agents_are_given_by_server_and_http_is_needed(store: Store) -> None:
    with pytest.raises(ValueError, match="servers must be among HTTP, MCP"):
        loom.ProtocolStudy({"HTTP": ScriptedWays(store), "gRPC": ScriptedWays(store)})
    with pytest.raises(ValueError, match='needs "HTTP"'):
        loom.ProtocolStudy({"A2A": ScriptedWays(store)})
    assert sum(len(ways) for _, ways in SERVERS.values()) == 9
