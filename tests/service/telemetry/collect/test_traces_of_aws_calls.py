"""Calls that an agent makes to AWS with boto3 are in its trace, each once, although nothing in it traces them."""

from __future__ import annotations

from pathlib import Path

import pytest
from waiting import wait_until
from whole_traces import traced

import loomlib as loom
from loomlib.workbench.trace_view import TraceView


@pytest.fixture(scope="module")
def remembering(bench: loom.Workbench) -> loom.Agent:
    memory = bench.memories.create("notes")
    folder = Path(__file__).with_name("remembering")
    return bench.deploy(folder, name="remembering", environment={"MEMORY_ID": memory.id})


def ask(agent: loom.Agent, *steps: str) -> TraceView:
    view = traced(agent.invoke(payload={"steps": list(steps)}).raise_for_status()).trace()
    breakdown = view.breakdown()
    assert sum(part.duration_ns for part in breakdown.parts) == breakdown.total_ns
    return view


def test_calls_to_memory_are_the_memorys_time_and_their_retries_are_reported(remembering: loom.Agent) -> None:
    view = ask(remembering, "remember")
    create_span, list_span = view.trace.of_operation("memory")
    assert (create_span.name, list_span.name) == ("Bedrock AgentCore.CreateEvent", "Bedrock AgentCore.ListEvents")
    assert create_span.kind == "client"
    assert {"rpc.system": "aws-api", "rpc.service": "Bedrock AgentCore", "rpc.method": "CreateEvent"}.items() <= dict(
        create_span.attributes
    ).items()
    assert create_span.attributes["http.status_code"] == 201
    assert (create_span.attributes["retry_attempts"], list_span.attributes["retry_attempts"]) == (0, 1)
    assert [event.attributes["exception.type"] for event in list_span.events] == ["ThrottlingException"]
    assert "error" not in (create_span.status, list_span.status)
    assert view.breakdown()["memory"].duration_ns >= create_span.duration_ns + list_span.duration_ns > 0
    (agent,) = view.trace.of_operation("invoke_agent")
    assert create_span.parent_id == list_span.parent_id == agent.span_id


def test_a_model_that_is_asked_without_a_framework_is_a_model_call_with_tokens(remembering: loom.Agent) -> None:
    view = ask(remembering, "think")
    calls = view.model_calls()
    assert list(calls["model"]) == ["loom.scripted", "loom.scripted"]
    assert (calls["input_tokens"] > 0).all()
    assert (calls["output_tokens"] > 0).all()
    assert view.breakdown()["model"].duration_ns > 0


def test_cells_of_a_code_interpreter_are_spans_with_their_exit_codes(remembering: loom.Agent) -> None:
    view = ask(remembering, "compute")
    cells = [span for span in view.trace.spans if span.name == "Bedrock AgentCore.InvokeCodeInterpreter"]
    assert [span.attributes["code_interpreter.exit_code"] for span in cells] == [0, 1]
    assert [span.status == "error" for span in cells] == [False, True]
    (agent,) = view.trace.of_operation("invoke_agent")
    for span in cells:
        assert (span.kind, span.parent_id) == ("client", agent.span_id)
        assert span.attributes["tool.name"] == "executeCode"
        assert span.attributes["code_interpreter.id"] == "aws.codeinterpreter.v1"
        assert len(span.attributes["toolsession.id"]) == 26


def test_files_and_pictures_of_a_code_interpreter_are_in_the_trace_and_on_its_page(remembering: loom.Agent) -> None:
    view = ask(remembering, "draw")
    (artifact,) = view.artifacts()
    assert (artifact.span_id, artifact.name) == ("", "code interpreter")
    assert [(file.path, file.action) for file in artifact.files] == [("numbers.csv", "wrote"), ("dot.png", "read")]
    (picture,) = artifact.pictures
    assert (picture.title, picture.kind) == ("dot.png", "image/png")
    assert picture.content.startswith(b"\x89PNG")
    page = view._repr_html_()
    assert f'src="{picture.address}"' in page
    assert "wrote numbers.csv" in page


def test_a_call_that_fails_is_a_failed_span_with_its_status(remembering: loom.Agent) -> None:
    (span,) = (span for span in ask(remembering, "fail").trace.spans if span.name == "S3.HeadObject")
    assert (span.status, span.attributes["http.status_code"]) == ("error", 403)  # the session may not look


def test_where_an_instrumentation_of_botocore_is_at_work_its_span_is_the_only_one(remembering: loom.Agent) -> None:
    spans = [span for span in ask(remembering, "instrumented").trace.spans if span.kind == "client"]
    assert [(span.name, span.scope) for span in spans] == [
        ("S3.HeadObject", "opentelemetry.instrumentation.botocore.s3")
    ]


def test_the_call_below_a_frameworks_model_call_is_counted_once(calculator: loom.Agent) -> None:
    view = traced(calculator.invoke("What is 2+2?").raise_for_status()).trace()
    twins = [span for span in view.trace.duplicates if span.kind == "client"]
    assert len(twins) == len(view.model_calls()) == len(view.trace.of_operation("chat"))
    assert all(span.name.startswith("chat ") for span in twins)
    assert [span for span in view.trace.spans if span.kind == "client"] == []


def test_the_metrics_of_a_call_stand_in_their_layer_and_are_its_own(calculator: loom.Agent) -> None:
    first, other = (calculator.invoke("What is 2+2?").raise_for_status() for _ in range(2))
    for inv in (first, other):
        traced(inv)  # metrics leave right after the spans
        facts = embedded(inv)
        assert facts["strands.event_loop.cycle_count"] == 2
        assert facts["strands.tool.call_count"] == 1
        assert facts["strands.event_loop.cycle_duration (s, mean of 2)"] > 0
    assert "this invocation's process" in other.telemetry.layers()["embedded metrics"].says


def embedded(inv: loom.Invocation) -> dict[str, float]:
    """The metrics of an invocation once those of both cycles are there."""

    def found() -> dict[str, float]:
        facts = dict(inv.telemetry.layers()["embedded metrics"].facts)
        durations = "strands.event_loop.cycle_duration (s, mean of 2)"  # may leave after the count of the cycles
        return facts if facts.get("strands.event_loop.cycle_count", 0) >= 2 and durations in facts else {}

    return wait_until(found, what="the metrics of two cycles")
