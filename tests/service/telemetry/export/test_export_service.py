"""From an agent that knows nothing of telemetry to the log groups of a real local AgentCore, read with plain boto3."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from waiting import wait_until

from loomlib import local

BLUEPRINT = Path(__file__).parents[4] / "loomlib" / "blueprints" / "assistant"


def deploy(aws):
    """The assistant as it is in the blueprints."""
    files = {str(path.relative_to(BLUEPRINT)): path.read_bytes() for path in BLUEPRINT.rglob("*") if path.is_file()}
    files.pop("requirements.txt")  # the workbench has them
    runtime = aws.create("assistant", aws.upload(files))
    described = aws.settled(runtime["agentRuntimeId"])
    assert described["status"] == "READY", described
    return described


@pytest.fixture
def assistant(aws):
    return deploy(aws)


def spans_of(aws, session_id, wanted):
    """The records of `aws/spans` that name the session, once `wanted` is among their names."""

    def complete():
        records = []
        with contextlib.suppress(aws.client("logs").exceptions.ResourceNotFoundException):
            pages = aws.client("logs").get_paginator("filter_log_events")
            for page in pages.paginate(logGroupName="aws/spans", filterPattern=f'"{session_id}"'):
                records += [json.loads(event["message"]) for event in page["events"]]
        return records if wanted in {span["name"] for span in records} else []

    return wait_until(complete, what=f"the span {wanted}")


def test_the_unchanged_assistant_leaves_its_spans_where_aws_would(aws, assistant):
    session_id = "assistant-" + "s" * 30
    aws.invoke(
        assistant["agentRuntimeArn"],
        json.dumps({"prompt": "Where is order A-1042, and what is the weather in Paris?"}).encode(),
        runtimeSessionId=session_id,
    )
    spans = spans_of(aws, session_id, "POST /invocations")
    names = sorted(span["name"] for span in spans)
    assert {"chat", "execute_tool find_order", "execute_tool get_weather"} <= set(names)
    assert names.count("POST /invocations") == 1
    assert len({span["traceId"] for span in spans}) == 1
    assert {span["attributes"]["session.id"] for span in spans} == {session_id}
    assert {span["resource"]["attributes"]["service.name"] for span in spans} == {"assistant.DEFAULT"}
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans)
    assert all(span["parentSpanId"] in ids for span in spans if span["name"] != "POST /invocations")


def test_stopping_a_session_or_the_whole_service_right_after_an_answer_loses_no_span(start_service):
    aws = start_service()
    arn = deploy(aws)["agentRuntimeArn"]
    prompt = json.dumps({"prompt": "What is the weather in Paris?"}).encode()
    stopped, running = "stopped-" + "s" * 30, "running-" + "s" * 30
    aws.invoke(arn, prompt, runtimeSessionId=stopped)
    aws.data.stop_runtime_session(agentRuntimeArn=arn, runtimeSessionId=stopped)
    aws.invoke(arn, prompt, runtimeSessionId=running)
    local.stop(aws.state.home)
    again = start_service(aws.state.home)
    for session_id in (stopped, running):
        names = [span["name"] for span in spans_of(again, session_id, "POST /invocations")]
        assert {"chat", "execute_tool get_weather", "POST /invocations"} <= set(names)
