"""Bursts of 429, 402 and 500, cut streams: one request each, counted by class, in no percentile."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from fault_lab import FaultLab
from faulty_proxy import Fault, FaultyProxy, aws_error, cut, faulty_proxy

import loomlib as loom
from loomlib.latency import LatencyStudy, Silent

ERROR_500 = aws_error(500, "InternalServerException")
ERROR_429 = aws_error(429, "ThrottlingException")
WORDS = b'data: "some "\n\ndata: "words"\n\n'
CUTS = {
    "shorter than its Content-Length": cut("Content-Length", "500", WORDS),
    "chunked without the last chunk": cut("Transfer-Encoding", "chunked", b"1e\r\n" + WORDS + b"\r\n"),
    "in the middle of an event": cut("Transfer-Encoding", "chunked", b"25\r\n" + WORDS + b'data: "\r\n'),
}


def behind_front(lab: FaultLab, agent: loom.Agent, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> loom.Agent:
    """The same agent for a workbench that thinks it is on AWS, where every invocation passes the proxy."""
    variables = agent.context.environment.environment() | {"AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": proxy.url}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return lab.open("aws").register(agent.arn)


async def burst(agent: loom.Agent, count: int, **more: object) -> Counter[str]:
    runs = await asyncio.gather(*(agent.ainvoke("?", **more) for _ in range(count)))  # type: ignore[arg-type]
    for run in runs:
        row = agent.context.store.invocations.get(run.record.id)
        assert row is not None
        assert (row.status, row.failure) == (run.status, run.failure)
    return Counter(run.failure or "ok" for run in runs)


def check_study(result: loom.StudyResult, failures: Counter[str]) -> None:
    """Failures counted by class everywhere, and percentiles of the answered calls alone."""
    assert Counter(call.failure for call in result.calls if call.is_failed) == failures
    assert sum(failures.values(), result.answered) == len(result.calls)
    for scenario in result.estimates().scenarios:
        calls = [call for call in result.calls if call.scenario is scenario.scenario]
        durations = [call.duration_ms for call in calls if call.is_done]
        assert scenario.failures == Counter(call.failure for call in calls if call.is_failed)
        assert scenario.n == len(durations)
        assert scenario.p50.n == len(durations)
        assert all(call.duration_ms is None for call in calls if call.is_failed)
        cell = str(result.table().loc[scenario.scenario.value, "failed"])
        assert all(f"{count} {name}" in cell for name, count in scenario.failures.items())
    (sentence,) = [text for text in result.sentences() if "failure" in text.lower()]
    assert all(f"{count} {name}" in sentence for name, count in failures.items())


async def test_a_burst_above_the_quota_of_new_sessions_is_throttled_and_not_repeated(build: Callable[..., FaultLab]):
    lab = build(quotas="sessions_per_minute=4")
    bench = lab.open()
    agent = lab.deploy(bench)
    assert await burst(agent, 12) == {"ok": 4, "throttle": 8}
    assert len(lab.calls()) == 4
    other = lab.deploy(bench, PAUSE_S="0")
    result = await LatencyStudy(other, cold=3, warm=3, sticky=0, find_starts=False).arun(Silent())
    check_study(result, Counter(throttle=2))


async def test_a_burst_above_the_quotas_of_calls_and_of_active_sessions_is_distinguished(
    build: Callable[..., FaultLab],
):
    lab = build(quotas="invocations_per_s=4,active_sessions=1")
    agent = lab.deploy(lab.open())
    session = agent.invoke("?").session_id
    assert (await agent.ainvoke("?")).failure == "quota"
    outcomes = await burst(agent, 40, session_id=session)
    assert set(outcomes) == {"ok", "throttle"}
    assert outcomes["ok"] == len(lab.calls()) - 1, "what was throttled never reached the agent"


def every(number: int, fault: Fault, also: Fault) -> Callable[[int], Fault | None]:
    """Every n-th invocation meets one fault, the one after it the other."""
    return lambda count: {0: fault, 1: also}.get(count % number) if count > 1 else None


async def test_bursts_of_500_and_429_cost_one_request_each(
    lab: FaultLab, agent: loom.Agent, monkeypatch: pytest.MonkeyPatch
):
    session = agent.invoke("?").session_id
    with faulty_proxy(
        agent.context.environment.environment()["AWS_ENDPOINT_URL"], every(4, ERROR_500, ERROR_429)
    ) as proxy:
        unlucky = behind_front(lab, agent, proxy, monkeypatch)
        assert await burst(unlucky, 20, session_id=session) == {"ok": 11, "service_error": 5, "throttle": 4}
        assert proxy.invocations == 20
        last = unlucky.history.last(session_id=session)
        failed = [
            row for row in unlucky.context.store.invocations.list(session_id=session) if row.failure == "service_error"
        ]
        assert last.session_id == session
        assert "InternalServerException on purpose" in (failed[0].error_message or "")

        before = proxy.invocations
        result = await LatencyStudy(unlucky, cold=2, warm=2, sticky=8, find_starts=False, study_id="bad").arun(Silent())
        rows = [row for row in unlucky.context.store.invocations.list(limit=None) if "study:bad" in row.labels]
        assert proxy.invocations - before == len(rows)
        refused = Counter(row.failure for row in rows if row.failure)
        assert set(refused) == {"service_error", "throttle"}
        check_study(result, refused)


def test_an_agent_that_raises_in_some_calls_is_counted_as_the_agents_error(lab: FaultLab, bench: loom.Workbench):
    agent = lab.deploy(bench, FAIL="every third")
    calls = len(lab.calls())
    result = LatencyStudy(agent, cold=1, warm=1, sticky=6, find_starts=False, study_id="third").run(Silent())
    rows = [row for row in bench.context.store.invocations.list(limit=None) if "study:third" in row.labels]
    assert len(lab.calls()) - calls == len(rows)
    failures = Counter(row.failure for row in rows if row.failure)
    assert set(failures) == {"agent_error"}
    check_study(result, failures)
    assert any("the loom has no yarn" in (call.error_message or "") for call in result.calls)


@pytest.mark.parametrize("how", CUTS)
def test_a_stream_cut_midway_keeps_what_came_and_is_no_answer(
    lab: FaultLab, agent: loom.Agent, monkeypatch: pytest.MonkeyPatch, how: str
):
    with faulty_proxy(agent.context.environment.environment()["AWS_ENDPOINT_URL"], lambda _: CUTS[how]) as proxy:
        unlucky = behind_front(lab, agent, proxy, monkeypatch)
        inv = unlucky.invoke("?")
        assert (inv.status, inv.failure) == ("error", "transport")
        assert inv.text == "some words"
        assert unlucky.history.last(session_id=inv.session_id).text == "some words"
        events = list(unlucky.stream("?"))
        assert isinstance(events[-1], loom.InvocationError)
        assert "".join(event.text for event in events if isinstance(event, loom.Chunk)) == "some words"
        assert proxy.invocations == 2


def test_a_service_that_is_not_there_is_a_transport_failure_of_one_request(
    lab: FaultLab, agent: loom.Agent, monkeypatch: pytest.MonkeyPatch
):
    with faulty_proxy(agent.context.environment.environment()["AWS_ENDPOINT_URL"], lambda _: None) as proxy:
        unlucky = behind_front(lab, agent, proxy, monkeypatch)
    inv = unlucky.invoke("?")
    assert (inv.status, inv.failure, inv.text) == ("error", "transport", "")
    assert proxy.invocations == 0
