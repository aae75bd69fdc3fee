from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st
from plain_agents import PLAIN_APP
from waiting import wait_until

from loomlib import local
from loomlib.local.logs.events import LogEvents
from loomlib.local.logs.patterns import compile_pattern
from loomlib.local.logs.store import Logs
from loomlib.local.logs.streams import LogStreams
from loomlib.local.otlp import TelemetryReader
from loomlib.local.resources import Place

TALKER = (
    PLAIN_APP
    + """
import sys
app = PlainApp()
@app.entrypoint
def answer(payload):
    for number in range(payload.get("lines", 1)):
        print(f"line {number} of {payload['name']}")
    return "done"
app.run()
"""
)


def group_of(runtime: dict[str, Any]) -> str:
    return f"/aws/bedrock-agentcore/runtimes/{runtime['agentRuntimeId']}-DEFAULT"


def events(aws: Any, group: str, at_least: int, **more: Any) -> list[dict[str, Any]]:
    """All events that match, once there are enough of them."""
    logs = aws.client("logs")

    def found() -> list[dict[str, Any]]:
        with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, **more)
            events = [event for page in pages for event in page["events"]]
            return events if len(events) >= at_least else []
        return []

    return wait_until(found, what=f"{at_least} events in {group}") if at_least else found()


def test_every_line_arrives_in_order_and_in_aws_s_places(aws: Any) -> None:
    runtime = aws.deploy("talker", TALKER)
    answer, _ = aws.invoke(runtime["agentRuntimeArn"], b'{"name": "all", "lines": 5000}')
    log_events = events(aws, group_of(runtime), 5000, filterPattern='"line" "of all"')
    assert [event["message"] for event in log_events] == [f"line {number} of all" for number in range(5000)]
    (stream,) = {event["logStreamName"] for event in log_events}
    session = answer["runtimeSessionId"]
    assert re.fullmatch(rf"\d{{4}}/\d\d/\d\d/\[runtime-logs-{session}\][0-9a-f-]{{36}}", stream), "of its session"
    logs = aws.client("logs")
    streams = logs.describe_log_streams(logGroupName=group_of(runtime))["logStreams"]
    assert [item["logStreamName"] for item in streams if item["logStreamName"] != "otel-rt-logs"] == [stream]
    read = logs.get_log_events(logGroupName=group_of(runtime), logStreamName=stream, startFromHead=True, limit=3)
    assert len(read["events"]) == 3


def test_pages_are_cut_by_limit_and_lose_nothing(aws: Any) -> None:
    runtime = aws.deploy("pages", TALKER)
    for name in ("a", "b"):
        aws.invoke(runtime["agentRuntimeArn"], b'{"name": "%s", "lines": 50}' % name.encode())
    assert len(events(aws, group_of(runtime), 100, filterPattern="line")) == 100
    logs = aws.client("logs")
    log_events: list[dict[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        page = logs.filter_log_events(logGroupName=group_of(runtime), filterPattern="line", limit=7, **more)
        assert len(page["events"]) <= 7
        log_events += page["events"]
        if "nextToken" not in page:
            break
        more = {"nextToken": page["nextToken"]}
    assert len({event["eventId"] for event in log_events}) == len(log_events) == 100
    assert [event["timestamp"] for event in log_events] == sorted(event["timestamp"] for event in log_events)
    moment = log_events[50]["timestamp"]
    before = events(aws, group_of(runtime), 1, filterPattern="line", endTime=moment - 1)
    after = events(aws, group_of(runtime), 1, filterPattern="line", startTime=moment)
    assert len(before) + len(after) == 100
    one_stream = events(
        aws, group_of(runtime), 1, filterPattern="line", logStreamNames=[log_events[0]["logStreamName"]]
    )
    assert len(one_stream) == 50


def test_a_missing_group_and_a_pattern_that_is_not_understood_are_errors(aws: Any) -> None:
    logs = aws.client("logs")
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.filter_log_events(logGroupName="nothing")
    logs.create_log_group(logGroupName="mine")
    with pytest.raises(ClientError, match="use quoted terms"):
        logs.filter_log_events(logGroupName="mine", filterPattern="{ $.level = ERROR }")
    with pytest.raises(ClientError, match="nextToken"):
        logs.filter_log_events(logGroupName="mine", nextToken="x/y")


def test_events_of_a_client_are_found_as_those_of_agents(aws: Any) -> None:
    logs = aws.client("logs")
    logs.create_log_group(logGroupName="client")
    logs.create_log_stream(logGroupName="client", logStreamName="s")
    now = int(time.time() * 1000)
    logs.put_log_events(
        logGroupName="client", logStreamName="s", logEvents=[{"timestamp": now, "message": "from a client"}]
    )
    assert [event["message"] for event in events(aws, "client", 1, filterPattern='"from a"')] == ["from a client"]


def test_lines_outlive_a_restart_without_being_doubled(start_service: Callable[..., Any]) -> None:
    first = start_service()
    runtime = first.deploy("remembered", TALKER)
    first.invoke(runtime["agentRuntimeArn"], b'{"name": "before", "lines": 20}')
    before = events(first, group_of(runtime), 20, filterPattern="before")
    local.stop(first.state.home)
    again = start_service()
    after = events(again, group_of(runtime), 20, filterPattern="before")
    assert [event["message"] for event in after] == [event["message"] for event in before]
    assert [event["timestamp"] for event in after] == [event["timestamp"] for event in before]


def test_a_deleted_group_stays_deleted_after_a_restart(start_service: Callable[..., Any]) -> None:
    first = start_service()
    runtime = first.deploy("deleted_group", TALKER)
    first.invoke(runtime["agentRuntimeArn"], b'{"name": "gone"}')
    assert events(first, group_of(runtime), 1)
    for session in local.status(first.state.home).sessions:
        first.data.stop_runtime_session(agentRuntimeArn=runtime["agentRuntimeArn"], runtimeSessionId=session.session_id)
    later = first.deploy("later", TALKER)
    first.invoke(later["agentRuntimeArn"], b'{"name": "later"}')
    assert events(first, group_of(later), 1), "lines are kept in order, so what the session's end wrote is there too"
    first.client("logs").delete_log_group(logGroupName=group_of(runtime))
    local.stop(first.state.home)
    again = start_service().client("logs")
    with pytest.raises(again.exceptions.ResourceNotFoundException):
        again.filter_log_events(logGroupName=group_of(runtime))


def test_a_log_delay_hides_lines_for_its_time_only(start_service: Callable[..., Any]) -> None:
    aws = start_service(log_delay_s=1.5)
    runtime = aws.deploy("late", TALKER)
    aws.invoke(runtime["agentRuntimeArn"], b'{"name": "late", "lines": 3}')
    log_events = events(aws, group_of(runtime), 3, filterPattern="late")
    now_ms = time.time() * 1000
    assert len(log_events) == 3
    assert all(event["ingestionTime"] - event["timestamp"] >= 1_400 for event in log_events)
    assert all(event["timestamp"] <= now_ms - 1_400 for event in log_events)


@pytest.mark.parametrize(
    "written",
    [[str(number) for number in range(20_000)], ["half of a pair: \ud800", "later"]],
    ids=["many", "half of a surrogate pair"],
)
def test_nothing_that_was_written_is_lost_when_the_journal_is_closed(tmp_path: Path, written: list[str]) -> None:
    place = {"account_id": "123456789012", "region": "us-east-1"}
    logs = Logs(tmp_path, **place)
    for message in written:
        logs.write(group="g", stream="s", timestamp_ms=int(time.time() * 1000), message=message)
    logs.close()
    again = Logs(tmp_path, **place)
    assert again.wait_restored(120)
    with again.backend_lock:
        messages = [event.message for event in again.backend().groups["g"].streams["s"].events]
    again.close()
    assert messages[-len(written) :] == [message.replace("\ud800", "?") for message in written]


def test_a_line_that_was_just_written_is_in_every_answer(tmp_path: Path) -> None:
    place, group = Place("us-east-1", "123456789012"), "just written"
    logs, telemetry = Logs(tmp_path, account_id=place.account_id, region=place.region), TelemetryReader(tmp_path)
    moment_ms = int(time.time() * 1000)
    logs.write(group=group, stream="first", timestamp_ms=moment_ms, message="a line")
    answer = asyncio.run(LogStreams(logs, telemetry).describe_log_streams({"logGroupName": group}, place=place))
    (stream,) = answer["logStreams"]
    assert (stream["logStreamName"], stream["lastEventTimestamp"]) == ("first", moment_ms)
    logs.write(group=group, stream="second", timestamp_ms=moment_ms, message="a line")
    request = {"logGroupName": group, "logStreamName": "second"}
    assert asyncio.run(LogEvents(logs, telemetry).get_log_events(request, place=place)) is None, "moto answers"
    with logs.backend_lock:
        assert [event.message for event in logs.backend(place).groups[group].streams["second"].events] == ["a line"]
    logs.close()


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        ("", "anything", True),
        ("one two", "two and one", True),
        ("one two", "one", False),
        ('"one two"', "one two three", True),
        ('"one two"', "two one", False),
        ('"a" "b"', "b a", True),
        ('"say \\"hi\\""', 'they say "hi"', True),
        ("-debug", "info", True),
        ("info -debug", "info debug", False),
        ("?a ?b", "xbx", True),
        ("?a ?b", "c", False),
        ("%[0-9]{3}%", "code 404", True),
        ("ERROR", "error", False),
        ('"7f6de5ca-1"', '{"requestId": "7f6de5ca-1"}', True),
    ],
)
def test_patterns_match_as_the_guide_defines(pattern: str, line: str, expected: bool) -> None:
    assert compile_pattern(pattern)(line) is expected


@given(st.text(), st.text(), st.text())
def test_a_quoted_term_finds_every_line_that_contains_it(before: str, term: str, after: str) -> None:
    quoted = '"' + re.sub(r'([\\"])', r"\\\1", term) + '"'
    if not term.strip() or "\n" in term:
        return
    assert compile_pattern(quoted)(before + term + after)


def test_what_clients_put_is_rotated_as_well(aws: Any) -> None:
    logs, group = aws.client("logs"), "flooded"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="s")
    message = "x" * 200_000
    for _ in range(45):
        events = [{"timestamp": int(time.time() * 1000), "message": message}] * 5
        logs.put_log_events(logGroupName=group, logStreamName="s", logEvents=events)

    def kept() -> int:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, filterPattern="xxx")
        return sum(len(event["message"]) for page in pages for event in page["events"])

    wait_until(lambda: kept() <= 32 << 20)
    wait_until(
        lambda: logs.filter_log_events(logGroupName=group, filterPattern="dropped")["events"],
        what="the line that says so",
    )
