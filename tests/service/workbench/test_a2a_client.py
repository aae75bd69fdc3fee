"""The A2A client with a real agent of the A2A SDK: deployed, and at an address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local
from loomlib.errors import ProtocolError
from loomlib.evals.values.cases import Turn
from loomlib.workbench.a2a_client import A2aClient

AGENT = Path(__file__).with_name("a2a_test_agent.py")


@pytest.fixture(scope="module")
def planner(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy(AGENT, name="planner", protocol="A2A")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # inherited: no other process can take its port
        port, descriptor = listener.getsockname()[1], listener.fileno()
        environment = {**os.environ, "A2A_PORT": str(port), "A2A_SOCKET": str(descriptor)}
        process = subprocess.Popen(
            [sys.executable, str(AGENT)], stderr=subprocess.DEVNULL, env=environment, pass_fds=[descriptor]
        )
    with process:
        yield f"http://127.0.0.1:{port}/"
        process.terminate()


@pytest.fixture(scope="module", params=["agent", "address"])
def a2a(request: pytest.FixtureRequest, bench: loom.Workbench) -> Iterator[A2aClient]:
    if request.param == "agent":
        opened = request.getfixturevalue("planner").protocols.a2a()
    else:
        opened = bench.tools.a2a(request.getfixturevalue("address"))
    with opened as client:
        yield client


def test_the_card_names_the_agent_and_its_skills(a2a: A2aClient) -> None:
    assert a2a.card()["name"] == "planner"
    assert list(a2a.skills()["name"]) == ["Trip"]
    assert "Plans trips." in a2a._repr_html_()


def test_a_message_leads_to_a_task_with_artifacts_or_to_a_message(a2a: A2aClient) -> None:
    call = a2a.send("Oslo")
    assert (call.ok, call.state, call.text) == (True, "completed", "Plan for Oslo: train, hotel")
    assert [(artifact.name, artifact.text) for artifact in call.artifacts] == [("plan", "Plan for Oslo: train, hotel")]
    assert list(call.transcript()["kind"]) == ["request", "response"]
    greeting = a2a.send("hello")
    assert (greeting.state, greeting.text, greeting.task.id) == ("message", "Hello.", "")
    assert list(a2a.history(limit=2)["response"]) == ["Hello.", "Plan for Oslo: train, hotel"]


def test_a_stream_yields_states_and_artifacts_as_they_come(a2a: A2aClient) -> None:
    stream = a2a.stream("Rome")
    events = [(event.kind, event.state, event.text) for event in stream]
    assert events[0][:2] == ("task", "submitted")
    assert ("status-update", "working", "Working.") in events
    assert [text for kind, _, text in events if kind == "artifact-update"] == ["Plan for Rome: ", "train, hotel"]
    assert events[-1][:2] == ("status-update", "completed")
    call = stream.result()
    assert call.text == "Plan for Rome: train, hotel"
    assert list(call.transcript()["at_ms"]) == sorted(call.transcript()["at_ms"])
    assert len(call.record.chunk_offsets_ms) == len(events)


def test_a_task_that_asks_goes_on_with_the_answer(a2a: A2aClient) -> None:
    first = a2a.send("plan")
    assert (first.state, first.task.message) == ("input-required", "Where to?")
    second = a2a.send("Bergen", task_id=first.task.id, context_id=first.task.context_id)
    assert (second.state, second.text) == ("completed", "Plan for Bergen: train, hotel")
    assert a2a.task(first.task.id).state == "completed"


def test_a_failed_task_and_an_unknown_one_are_failed_calls(a2a: A2aClient) -> None:
    failed = a2a.send("fail")
    assert (failed.ok, failed.failure, failed.error) == (False, "agent_error", "The agent's task failed: No trains.")
    unknown = a2a.task("no-such-task")
    assert not unknown.ok
    assert "not found" in (unknown.error or "").lower()


def test_a_running_task_is_cancelled(a2a: A2aClient) -> None:
    stream = a2a.stream("wait")
    id = next(iter(stream)).result["id"]
    assert a2a.cancel(id).state == "canceled"
    stream.cancel()  # the SDK leaves the stream of a cancelled task open
    assert stream.result().failure == "cancelled"


def test_a_closed_client_is_displayed_without_a_new_runtime_session(planner: loom.Agent) -> None:
    with planner.protocols.a2a() as client:
        client.send("Oslo")
    assert "closed" in client._repr_html_()
    sessions = local.status(planner.context.settings.home).sessions
    assert client.session_id not in {session.session_id for session in sessions}


def test_an_agent_of_another_protocol_is_refused(planner: loom.Agent, calculator: loom.Agent) -> None:
    with pytest.raises(ProtocolError, match=r"protocol is HTTP, not A2A .calculator.. Try: agent.invoke"):
        calculator.protocols.a2a()
    with pytest.raises(ProtocolError, match=r"protocol is A2A, not MCP .planner.. Try: agent.protocols.a2a"):
        planner.protocols.mcp()


def test_an_a2a_agent_is_evaluated_like_any_other(planner: loom.Agent) -> None:
    turn = Turn(prompt="Oslo", expected_answer="Plan for Oslo: train, hotel")
    evalset = loom.EvalSet(name="trips", cases=(loom.EvalCase(id="one", turns=(turn,)),))
    run = loom.evaluate(planner, evalset, ["exact"])
    assert list(run.rows()["exact"]) == [1]


def test_an_a2a_agent_is_measured_like_any_other(planner: loom.Agent) -> None:
    study = loom.LatencyStudy(planner, prompt="Oslo", cold=1, warm=1, sticky=0)
    result = study.run()
    assert [row.failure for row in planner.context.store.invocations.list(planner.entry.id, limit=2)] == [None, None]
    assert "0 failed" in repr(result)
