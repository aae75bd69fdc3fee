"""A latency study against the local AgentCore: real processes and real logs. (Its faults: `tests/service/faults`.)"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import loomlib as loom
from loomlib import local
from loomlib.latency import LatencyStudy, Scenario, Silent, StudyResult
from loomlib.reports import study_traces


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[loom.Workbench, StudyResult]]:
    """A study of a real agent that nothing happened to."""
    home = tmp_path_factory.mktemp("studied") / ".loom"
    with loom.connect(home=home) as bench:
        yield bench, LatencyStudy(bench.deploy("calculator"), cold=3, warm=3, sticky=4, sticky_length=4).run(Silent())
    local.stop(home)


def test_a_study_of_a_real_agent_distinguishes_cold_from_warm_and_knows_when_it_started(
    studied: tuple[loom.Workbench, StudyResult],
) -> None:
    bench, result = studied
    assert Counter(call.state for call in result.calls) == {"done": 10}
    cold = [call for call in result.calls if call.scenario is Scenario.COLD]
    warm = [call for call in result.calls if call.scenario is Scenario.WARM]
    assert {call.start_state for call in cold + warm} == {"found"}
    agent = bench.agent("calculator")
    parts = {view.invocation_id: view.breakdown() for view in study_traces(agent, result)}
    for call in cold + warm:
        # A cold call holds the start of a process, a warm one does not.
        cold_start_ns = parts[call.invocation_id or 0]["cold_start"].duration_ns
        assert (cold_start_ns > 0) == (call.scenario is Scenario.COLD)
    clocks = result.estimates().clocks
    assert clocks is not None
    assert clocks.allows_agreement, "one machine has one clock"
    assert "local AgentCore" in result.labels
    assert any("simulated" in label for label in result.labels)
    answers = [bench.context.store.invocations.get(call.invocation_id or 0) for call in result.calls]
    assert all(answer is not None and "4" in (answer.response or "") for answer in answers)
    assert result.floor.content_type == (answers[0].content_type if answers[0] else None)


def test_the_garbage_collections_of_every_call_are_known(studied: tuple[loom.Workbench, StudyResult]) -> None:
    _, result = studied
    assert all(call.garbage_collection_ms is not None for call in result.calls)
    assert all((call.garbage_collection_ms or 0) <= (call.duration_ms or 0) for call in result.calls)


def test_the_logs_tell_which_calls_started_a_process(studied: tuple[loom.Workbench, StudyResult]) -> None:
    _, result = studied
    for call in result.calls:
        assert call.started_process is (call.scenario is Scenario.COLD)
    assert all(scenario.mixture is None for scenario in result.estimates().scenarios)


def test_every_scenario_uses_processes_as_declared(studied: tuple[loom.Workbench, StudyResult]) -> None:
    bench, result = studied
    arn, logs = bench.agent("calculator").entry.arn, bench.context.log_reader.session_logs
    streams = {
        session: {event.stream for event in logs(arn, qualifier="DEFAULT", session_id=session)}
        for session in {call.session_id or "" for call in result.calls}
    }
    assert len(streams) == 7, "three cold, three warm and one long-lived session"
    assert all(len(session_streams) == 1 for session_streams in streams.values()), (
        "each session was one process from start to end"
    )
    assert len(set.union(*streams.values())) == 7, "and no two sessions shared one"
