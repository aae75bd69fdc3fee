"""DescribeLogStreams tells the times of streams that hold telemetry, as it does of those that hold lines."""

from __future__ import annotations

import secrets
import time

import pytest
from botocore.exceptions import ClientError
from exporting import Exporter, span, traces
from waiting import wait_until


def a_second_of_spans(exporter: Exporter) -> tuple[list[int], int]:
    """Three spans that ended at different times; their log events' times, and when they were sent."""
    trace, now_ns = secrets.token_hex(16), time.time_ns()
    sent_ms = now_ns // 1_000_000
    exporter.send(
        traces(
            *(
                span(
                    trace,
                    secrets.token_hex(8),
                    startTimeUnixNano=str(now_ns - seconds * 10**9 - 10**6),
                    endTimeUnixNano=str(now_ns - seconds * 10**9),
                )
                for seconds in (30, 20, 10)
            )
        )
    )
    wait_until(lambda: len(exporter.events(pattern=f'"{trace}"')) >= 3, what="three events")
    events = exporter.events(pattern=f'"{trace}"')
    return [event["timestamp"] for event in events], sent_ms


def test_the_stream_of_spans_has_the_times_of_its_first_and_last_event(exporter: Exporter) -> None:
    times, sent_ms = a_second_of_spans(exporter)
    logs = exporter.aws.client("logs")
    (stream,) = logs.describe_log_streams(logGroupName="aws/spans")["logStreams"]
    assert stream["firstEventTimestamp"] <= times[0] < times[-1] <= stream["lastEventTimestamp"]
    assert stream["lastIngestionTime"] >= sent_ms
    every = exporter.events()
    assert stream["firstEventTimestamp"] == every[0]["timestamp"]
    assert stream["lastEventTimestamp"] == every[-1]["timestamp"]


def test_what_came_last_counts_and_not_what_happened_last(exporter: Exporter) -> None:
    now_ns = time.time_ns()
    exporter.send(traces(span(secrets.token_hex(16), secrets.token_hex(8), endTimeUnixNano=str(now_ns))))
    _, sent_ms = a_second_of_spans(exporter)
    (stream,) = exporter.aws.client("logs").describe_log_streams(logGroupName="aws/spans")["logStreams"]
    assert stream["lastEventTimestamp"] >= now_ns // 1_000_000
    assert stream["lastIngestionTime"] >= sent_ms


def test_streams_are_ordered_by_their_last_event_and_paged(exporter: Exporter) -> None:
    logs, group = exporter.aws.client("logs"), f"streams-{secrets.token_hex(4)}"
    logs.create_log_group(logGroupName=group)
    now_ms = int(time.time() * 1000)
    for number in range(3):
        logs.create_log_stream(logGroupName=group, logStreamName=f"stream {number}")
        event = {"timestamp": now_ms - number * 1000, "message": "a line"}
        logs.put_log_events(logGroupName=group, logStreamName=f"stream {number}", logEvents=[event])
    pages = logs.get_paginator("describe_log_streams").paginate(
        logGroupName=group, orderBy="LastEventTime", descending=True, limit=2
    )
    assert [[stream["logStreamName"] for stream in page["logStreams"]] for page in pages] == [
        ["stream 0", "stream 1"],
        ["stream 2"],
    ]
    streams = logs.describe_log_streams(logGroupName=group, logStreamNamePrefix="stream 1")["logStreams"]
    assert [stream["logStreamName"] for stream in streams] == ["stream 1"]


def test_what_cloudwatch_refuses_is_refused(exporter: Exporter) -> None:
    logs = exporter.aws.client("logs")
    with pytest.raises(logs.exceptions.ResourceNotFoundException):
        logs.describe_log_streams(logGroupName="nothing")
    group = f"refused-{secrets.token_hex(4)}"
    logs.create_log_group(logGroupName=group)
    for parameters, message in (
        ({"orderBy": "LastEventTime", "logStreamNamePrefix": "a"}, "Cannot order by"),
        ({"nextToken": "of nobody"}, "nextToken"),
    ):
        with pytest.raises(ClientError, match=message):
            logs.describe_log_streams(logGroupName=group, **parameters)
