"""Logs Insights through plain boto3, over logs and exported telemetry of agents."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from exporting import Exporter, span, text, traces
from waiting import eventually, wait_until

from loomlib.local.logs.queries import Insights
from loomlib.local.logs.store import Logs
from loomlib.local.resources import Place

TALKER = """
from bedrock_agentcore import BedrockAgentCoreApp
app = BedrockAgentCoreApp()
@app.entrypoint
def answer(payload):
    for number, tool in enumerate(payload["tools"], start=1):
        print(f"Tool #{number}: {tool}")
    return "done"
app.run()
"""

DURATIONS = """fields @timestamp, @message
| filter @message like /Invocation completed/
| parse @message '"message": "Invocation completed successfully (*s)"' as duration
| stats count() as n, avg(duration) as avg_s, pct(duration, 50) as p50, pct(duration, 90) as p90,
        pct(duration, 99) as p99, max(duration) as max_s"""
TOOLS = """fields @message
| filter @message like /^Tool #/
| parse @message 'Tool #*: *' as num, tool_name
| stats count() as calls by tool_name
| sort calls desc"""
COLD_STARTS = """fields @timestamp
| filter @message like /Connection failed out to container health check/
| stats count() as cold_starts by bin(1h)
| sort cold_starts desc"""
SLOWEST = """fields @timestamp, @message
| filter @message like /Invocation completed/
| parse @message '"message": "Invocation completed successfully (*s)", "logger": "*", "requestId": "*", \
"sessionId": "*"' as duration, logger, req_id, session_id
| sort duration desc
| limit 10"""


def start(aws: Any, query: str, group: str, **more: Any) -> str:
    now = int(time.time())
    times = {"startTime": now - 3600, "endTime": now + 60} | more
    return aws.client("logs").start_query(logGroupName=group, queryString=query, **times)["queryId"]


def settled(aws: Any, query_id: str) -> Any:
    def ended() -> Any:
        answer = aws.client("logs").get_query_results(queryId=query_id)
        return answer if answer["status"] not in ("Running", "Scheduled") else None

    return wait_until(ended, what="the end of the query")


def ask(aws: Any, query: str, group: str, **more: Any) -> list[dict[str, str]]:
    answer = settled(aws, start(aws, query, group, **more))
    assert answer["status"] == "Complete"
    return [{cell["field"]: cell["value"] for cell in row} for row in answer["results"]]


@pytest.fixture(scope="module")
def talked(aws: Any) -> tuple[str, list[str]]:
    """The log group of an agent that was asked in three sessions, once it is all there."""
    runtime = aws.deploy("insights_talker", TALKER)
    group = f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"
    sessions = [f"session-{number}-{secrets.token_hex(16)}" for number in range(3)]
    for session in sessions:
        tools = b'{"tools": ["calculator", "calculator", "weather"]}'
        aws.invoke(runtime["agentRuntimeArn"], tools, runtimeSessionId=session)
    exporter = Exporter(aws)
    wait_until(lambda: len(exporter.events(group, '"Invocation completed"')) >= 3, what="the third invocation's line")
    return group, sessions


def test_duration_percentiles_over_all_invocations(aws: Any, talked: tuple[str, list[str]]) -> None:
    (row,) = ask(aws, DURATIONS, talked[0])
    assert row["n"] == "3"
    assert 0 <= float(row["p50"]) <= float(row["p90"]) <= float(row["p99"]) == float(row["max_s"])


def test_how_often_each_tool_was_used(aws: Any, talked: tuple[str, list[str]]) -> None:
    assert ask(aws, TOOLS, talked[0]) == [
        {"tool_name": "calculator", "calls": "6"},
        {"tool_name": "weather", "calls": "3"},
    ]


def test_cold_starts_an_hour(aws: Any, talked: tuple[str, list[str]]) -> None:
    rows = ask(aws, COLD_STARTS, talked[0])
    assert sum(int(row["cold_starts"]) for row in rows) == 3  # one for each session


def test_the_slowest_sessions(aws: Any, talked: tuple[str, list[str]]) -> None:
    rows = ask(aws, SLOWEST, talked[0])
    assert {row["session_id"] for row in rows} == set(talked[1])
    assert [float(row["duration"]) for row in rows] == sorted((float(row["duration"]) for row in rows), reverse=True)


def test_spans_are_asked_by_their_fields(aws: Any, exporter: Exporter) -> None:
    session, trace = f"session-{secrets.token_hex(20)}", secrets.token_hex(16)
    spans = [
        span(trace, f"{number:016x}", name=name, attributes=[text("session.id", session)])
        for number, name in enumerate(("chat", "chat", "execute_tool add"), start=1)
    ]
    exporter.send(traces(*spans))
    query = f"""filter attributes.session.id = "{session}"
        | stats count() as n, max(durationNano) / 1000000 as ms by name"""
    with pytest.raises(ClientError, match="MalformedQuery"):
        start(aws, query, "aws/spans")
    query = f"""filter attributes.session.id = "{session}" | fields durationNano / 1000000 as ms
        | stats count() as n, max(ms) as slowest by name | sort name"""
    exporter.records(pattern=f'"{session}"')
    assert ask(aws, query, "aws/spans") == [
        {"name": "chat", "n": "2", "slowest": "120"},
        {"name": "execute_tool add", "n": "1", "slowest": "120"},
    ]
    answer = settled(aws, start(aws, query, "aws/spans"))
    assert answer["statistics"]["recordsScanned"] == 3, "the session's index was not used"


def test_a_query_that_is_not_understood_names_its_fault_and_place(aws: Any) -> None:
    logs = aws.client("logs")
    logs.create_log_group(logGroupName="malformed")
    with pytest.raises(logs.exceptions.MalformedQueryException) as refusal:
        start(aws, "fields @message | unmask @message", "malformed")
    assert "'unmask' is not supported" in str(refusal.value)
    place = refusal.value.response["queryCompileError"]["location"]
    assert place == {"startCharOffset": 18, "endCharOffset": 24}


def test_missing_groups_and_queries_are_errors(aws: Any) -> None:
    logs = aws.client("logs")
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        start(aws, "fields @message", "no-such-group")
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.get_query_results(queryId="no-such-query")
    logs.create_log_group(logGroupName="backwards")
    with pytest.raises(logs.exceptions.InvalidParameterException):
        start(aws, "fields @message", "backwards", startTime=2_000_000_000)


def test_a_query_without_end_can_be_stopped_and_hinders_nobody(start_service: Callable[..., Any]) -> None:
    aws = start_service()
    logs = aws.client("logs")
    logs.create_log_group(logGroupName="endless")
    logs.create_log_stream(logGroupName="endless", logStreamName="s")
    event = {"timestamp": int(time.time() * 1000), "message": "a" * 64}
    logs.put_log_events(logGroupName="endless", logStreamName="s", logEvents=[event])
    query_id = start(aws, "filter @message like /(a|a)*b/ | limit 1", "endless")
    assert logs.get_query_results(queryId=query_id)["status"] == "Running"
    assert [query["queryId"] for query in logs.describe_queries(status="Running")["queries"]] == [query_id]
    assert logs.stop_query(queryId=query_id)["success"]
    assert settled(aws, query_id)["status"] == "Cancelled"
    query_id = start(aws, "filter @message like /(a|a)*b/ | limit 1", "endless")
    assert logs.get_query_results(queryId=query_id)["status"] == "Running"  # and is ended with the service


async def test_a_query_whose_process_cannot_be_started_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    place = Place("us-east-1", "123456789012")
    with contextlib.closing(Logs(tmp_path, account_id=place.account_id, region=place.region)) as logs:
        logs.write(group="unasked", stream="s", timestamp_ms=1, message="a line")
        await eventually(lambda: "unasked" in logs.backend(place).groups)
        insights = Insights(tmp_path, logs)
        request = {"queryString": "fields @message", "logGroupName": "unasked", "startTime": 0, "endTime": 1}
        query = await insights.start_query(request, place=place)
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})
        assert (await insights.get_query_results(query, place=place))["status"] == "Failed"
