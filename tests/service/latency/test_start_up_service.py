"""How sessions start on both platforms of the local AgentCore: in a study, and in the traces of their first calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from whole_traces import traced

import loomlib as loom
from loomlib import local
from loomlib.errors import StudyError
from loomlib.experiments import Silent
from loomlib.latency.start_up import StartUpResult
from loomlib.workbench import list_blueprints

PARTS = {
    "V1": ["preparation", "boot", "imports", "first_ping"],
    "V2": ["preparation", "restore", "network", "first_ping"],
}
SLEW_NS = 20_000_000
"""The clock of the day, which the client and the agent read, may run slower or faster than the monotonic one."""
KINDS = {"V1": "boot", "V2": "restore"}


WARMED_AGENT = """
import threading, time
from bedrock_agentcore import BedrockAgentCoreApp
from starlette.responses import PlainTextResponse
from starlette.routing import Route

threading.Thread(target=time.sleep, args=(600,), daemon=True).start()  # so that it is not forked
app = BedrockAgentCoreApp()

def warm_up(request):
    time.sleep(0.2)
    return PlainTextResponse("warm")

app.router.routes.append(Route("/warmup", warm_up, methods=["POST"]))
app.entrypoint(lambda payload: "done")
app.run()
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("starts") / ".loom"
    with loom.connect(home=home) as bench:
        yield bench
    local.stop(home)


@pytest.fixture(scope="module")
def agents(bench: loom.Workbench) -> dict[str, loom.Agent]:
    return {
        platform: bench.deploy("calculator", name=f"sums_{platform.lower()}", platform_version=platform)
        for platform in PARTS
    }


@pytest.fixture(scope="module")
def studied(agents: dict[str, loom.Agent]) -> StartUpResult:
    return loom.StartUpStudy(agents["V1"], agents["V2"], sessions=2, later_calls=1).run(Silent())


def test_a_study_knows_the_parts_of_every_start(studied: StartUpResult) -> None:
    assert [session.state for session in studied.sessions] == ["done"] * 4
    for session in studied.sessions:
        start = session.start
        assert start is not None
        assert [part.name for part in start.parts] == PARTS[session.platform]
        assert (start.kind, start.platform_version) == (KINDS[session.platform], session.platform)
        assert 0 < start.duration_ms <= (session.duration_ms or 0)
        ends = [part.start_ns + part.duration_ns for part in start.parts]
        assert [part.start_ns for part in start.parts[1:]] == ends[:-1]
    imports = [
        part for session in studied.sessions if session.start for part in session.start.parts if part.name == "imports"
    ]
    assert all(part.duration_ms > 10 for part in imports)
    assert [summary["platform"] for summary in studied.summary()["platforms"]] == ["V1", "V2"]
    (label,) = [label for label in studied.labels if label.startswith("sessions: ")]
    note = f"Isolation of sessions: {label.removeprefix('sessions: ')}."
    assert [*studied.method().notes, *studied.method().limits].count(note) == 1


def test_the_process_itself_is_measured_beside_both_platforms(agents: dict[str, loom.Agent]) -> None:
    source = next(blueprint.folder for blueprint in list_blueprints() if blueprint.name == "calculator")
    study = loom.StartUpStudy(agents["V1"], agents["V2"], sessions=2, later_calls=2, source=source)
    result = study.run(Silent())
    assert [session.state for session in result.sessions] == ["done"] * 6, [s.error_message for s in result.sessions]
    for block in (0, 1):
        assert {s.platform for s in result.sessions if s.block == block} == {"V1", "V2", "process"}
    for session in result.sessions:
        if session.platform == "process":
            assert session.ready_ms is not None
            assert session.duration_ms is not None
            assert 0 < session.ready_ms < session.duration_ms
            assert len(session.later_ms) == 2
    table = result.table()
    assert table.loc["process to first ping", "V1 p50 [95 %] ms"] == "–"
    assert table.loc["process to first ping", "python agent.py p50 [95 %] ms"] != "–"
    assert table.loc["what a new session costs", "V1 − python agent.py [95 %] ms"] != "–"
    (process,) = result.summary()["process"]
    assert (process["platform"], process["n"], process["failed"]) == ("process", 2, 0)
    assert "in a copy of the agent's folder" in " ".join(result.method().notes)
    assert str(source) not in result.method().run_again
    resumed = loom.StartUpStudy.resume(agents["V1"], agents["V2"], study.study_id).run(Silent())
    assert resumed.table().equals(table)


def test_a_process_that_ends_is_a_failure_and_a_folder_without_agent_is_refused(
    agents: dict[str, loom.Agent], tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=r"no agent\.py"):
        loom.StartUpStudy(agents["V1"], agents["V2"], source=tmp_path)
    (tmp_path / "agent.py").write_text("raise SystemExit(7)")
    result = loom.StartUpStudy(agents["V1"], agents["V2"], sessions=1, later_calls=1, source=tmp_path).run(Silent())
    (process,) = [session for session in result.sessions if session.platform == "process"]
    assert process.failure == "agent_error"
    assert "The process ended with code 7" in (process.error_message or "")
    assert {session.state for session in result.sessions if session.platform != "process"} == {"done"}


@pytest.mark.parametrize("platform", PARTS)
def test_the_trace_of_a_first_call_holds_the_start_at_its_time_and_later_ones_do_not(
    agents: dict[str, loom.Agent], platform: str
) -> None:
    agent = agents[platform]
    first = agent.invoke("What is 2 + 2?")
    again = agent.invoke("What is 3 + 3?", session_id=first.session_id)
    for inv in (first, again):
        traced(inv)
    trace = first.trace()
    start = trace.session_start
    assert start is not None
    assert [part.name for part in start.parts] == PARTS[platform]
    cold = trace.breakdown()["cold_start"]
    ((begins, ends),) = cold.intervals
    assert begins - SLEW_NS <= start.start_ns
    assert start.parts[-1].start_ns + start.parts[-1].duration_ns <= ends + SLEW_NS
    assert start.sentence() in trace.sentences()
    assert trace.to_dict()["session_start"]["kind"] == KINDS[platform]
    assert first.trace().session_start == start  # from the store
    assert again.trace().session_start is None
    assert [bar.label for bar in trace.start_bars()] == [part.label for part in start.parts]
    assert all(-20 <= bar.start_ms <= trace.breakdown().total_ms for bar in trace.start_bars())
    assert "imports" in trace.figure().to_json() or platform == "V2"


def test_the_warm_up_hook_of_a_booted_session_is_a_part_of_its_own(bench: loom.Workbench, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(WARMED_AGENT)
    agent = bench.deploy(tmp_path, name="warmed", warmup="/warmup", platform_version="V2")
    inv = agent.invoke("?")
    assert inv.ok, inv.error
    start = agent.targets.study_target().session_starts([inv.session_id])[inv.session_id]
    assert (start.kind, start.platform_version) == ("boot", "V2")
    assert [part.name for part in start.parts] == [*PARTS["V1"], "warm_up"]
    assert start.parts[-1].label == "warm-up hook"
    assert 200 <= start.parts[-1].duration_ms <= (inv.duration_ms or 0)


def test_a_latency_study_shows_the_platform_of_its_runtime(agents: dict[str, loom.Agent]) -> None:
    for platform, agent in agents.items():
        result = loom.LatencyStudy(agent, cold=1, warm=0, sticky=0).run(Silent())
        assert result.platform_version == platform
        assert result.table()["platform"].tolist() == [platform]
        assert f"platform {platform}" in result.title()
        assert f"Runtime platform {platform}" in " ".join(result.method().notes)
