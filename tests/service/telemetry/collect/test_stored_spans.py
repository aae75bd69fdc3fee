"""Spans that another process wrote to the log groups, read by the command line."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import boto3
import pytest
from loom_command import LoomCommand
from waiting import wait_until

import loomlib as loom


@pytest.fixture(scope="module")
def silent(bench: loom.Workbench) -> loom.Agent:
    """It exports nothing itself: all its spans are those that are put there."""
    return bench.deploy("echo", name="silent")


Loom = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def call_loom(loom_command: LoomCommand, bench: loom.Workbench) -> Loom:
    def call(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LOOM_HOME": str(bench.context.settings.home)}
        ran = loom_command.run(*arguments, environment=environment)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert "Traceback" not in ran.stderr
        return ran

    return call


@pytest.fixture
def logs(bench: loom.Workbench) -> Any:
    env = bench.environment()
    client = boto3.client(
        "logs",
        endpoint_url=env["AWS_ENDPOINT_URL"],
        region_name=env["AWS_REGION"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
    )
    yield client
    client.close()


def put(logs: Any, group: str, stream: str, records: Iterable[Mapping[str, Any]]) -> None:
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=group)
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
    events = [{"timestamp": int(time.time() * 1000), "message": json.dumps(record)} for record in records]
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


def records_of(inv: loom.Invocation, tool: str = "lookup") -> list[dict[str, Any]]:
    """The spans that an agent with one tool would have exported for a call."""
    assert inv.record.client_invoke_time is not None
    assert inv.duration_ms is not None
    start, length = int(inv.record.client_invoke_time * 1e9), int(inv.duration_ms * 1e6)

    def span(id: int, parent: int, name: str, begin: float, end: float, **attributes: str) -> dict[str, Any]:
        return {
            "resource": {"attributes": {"cloud.resource_id": inv.record.agent_arn}},
            "traceId": inv.record.trace_id,
            "spanId": f"{id:016x}",
            "parentSpanId": f"{parent:016x}",
            "name": name,
            "kind": "SERVER" if id == 1 else "INTERNAL",
            "startTimeUnixNano": start + int(length * begin),
            "endTimeUnixNano": start + int(length * end),
            "attributes": {"session.id": inv.session_id, **attributes},
            "status": {"code": "OK"},
        }

    return [
        span(3, 2, "chat", 0.6, 0.7, **{"gen_ai.operation.name": "chat"}),
        span(4, 2, f"execute_tool {tool}", 0.7, 0.8, **{"gen_ai.operation.name": "execute_tool"}),
        span(2, 1, "invoke_agent it", 0.5, 0.9, **{"gen_ai.operation.name": "invoke_agent"}),
        span(1, 99, "POST /invocations", 0.5, 0.9),
    ]


def test_a_partial_trace_is_fetched_again_until_it_is_whole(silent: loom.Agent, logs: Any) -> None:
    inv = silent.invoke("hello")
    records = records_of(inv)
    put(logs, "aws/spans", "elsewhere", records[:2])
    early = inv.trace()
    assert early.state == "partial"
    assert any("missing" in line for line in early.sentences())
    assert sum(part.duration_ns for part in early.breakdown().parts) == early.breakdown().total_ns
    put(logs, "aws/spans", "elsewhere", records[2:])
    late = inv.trace()
    assert late.state == "found"
    assert late.breakdown()["model"].share == pytest.approx(0.1, abs=0.001)
    stored_trace = silent.context.store.traces.get(inv.record.id)
    assert stored_trace is not None
    assert stored_trace.is_complete


def test_split_messages_find_their_spans(silent: loom.Agent, logs: Any) -> None:
    inv = silent.invoke("hello")
    records = records_of(inv)
    text = json.dumps([{"text": "What is it?"}])
    body = {"input": {"messages": [{"role": "user", "content": {"content": text}}]}}
    message = {"traceId": inv.record.trace_id, "spanId": records[0]["spanId"], "body": body, "timeUnixNano": 1}
    put(logs, silent.entry.log_group(), "otel-rt-logs", [message])
    put(logs, "aws/spans", "elsewhere", records)
    assert "What is it?" in [step.text for step in inv.trace().trajectory().steps]


def test_a_hostile_tool_drives_neither_page_nor_terminal(silent: loom.Agent, call_loom: Loom, logs: Any) -> None:
    inv = silent.invoke("hello")
    put(logs, "aws/spans", "elsewhere", records_of(inv, "<script>alert(1)</script>\x1b[2J"))
    view = inv.trace()
    assert view.state == "found"
    assert "<script" not in view._repr_html_()
    ran = call_loom("trace", "silent", "--session", inv.session_id)
    assert "\x1b" not in ran.stdout + ran.stderr
    printed = json.loads(call_loom("--json", "trace", "silent").stdout)
    assert "execute_tool <script>alert(1)</script>\x1b[2J" in [span["name"] for span in printed["spans"]]


def is_exported(logs: Any, inv: loom.Invocation) -> bool:
    """Whether the span that ends last is stored: on a busy machine it can come later than a lookup waits."""
    with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
        found = logs.filter_log_events(logGroupName="aws/spans", filterPattern=f'"{inv.record.trace_id}"')["events"]
        return "POST /invocations" in {json.loads(event["message"])["name"] for event in found}
    return False


def test_the_command_line_prints_where_the_time_went(calculator: loom.Agent, call_loom: Loom, logs: Any) -> None:
    for prompt in ("What is 2+2?", "What is 3+3?"):
        inv = calculator.invoke(prompt)
        wait_until(lambda inv=inv: is_exported(logs, inv), what="the spans of the invocation")
    one = call_loom("trace", "calculator")
    assert "cold start" in one.stdout
    assert one.stdout.splitlines()[1].startswith("Of ")
    several = call_loom("trace", "calculator", "--last", "2")
    assert len(several.stdout.splitlines()) == 3
    assert "2 of 2 invocations have spans" in several.stderr
    missing = call_loom("trace", "calculator", "--session", "x" * 33, code=1)
    assert "No invocation is stored" in missing.stderr
