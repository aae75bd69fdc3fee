"""Logs by agent, session, time and number, from the local service and from a backend that filters badly."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from paced import PacedServer, Reply, Request, Script

from loomlib.agents import RuntimeArn
from loomlib.aws.connection import Clients
from loomlib.errors import AccessDeniedError
from loomlib.telemetry import LogReader

Serve = Callable[[Script], PacedServer]
ClientsOf = Callable[[Mapping[str, str]], Clients]
NOW_MS = int(time.time() * 1000)


def new_arn() -> RuntimeArn:
    return RuntimeArn(
        partition="aws", region="us-east-1", account_id="123456789012", runtime_id=f"a-{uuid.uuid4().hex[:10]}"
    )


def put(clients: Clients, arn: RuntimeArn, stream: str, lines: Sequence[tuple[int, str]]) -> None:
    """Log `lines` (milliseconds before now, text) as an agent's process would."""
    logs = clients.logs()
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=arn.log_group())
    logs.create_log_stream(logGroupName=arn.log_group(), logStreamName=stream)
    events = [{"timestamp": NOW_MS - before, "message": text} for before, text in lines]
    logs.put_log_events(logGroupName=arn.log_group(), logStreamName=stream, logEvents=events)


def sdk_line(message: str, session_id: str) -> str:
    return json.dumps({"level": "INFO", "message": message, "requestId": "r", "sessionId": session_id})


def test_a_sessions_log_holds_the_plain_prints_of_its_process_and_nothing_of_another(clients: Clients) -> None:
    arn, mine, other = new_arn(), "m" * 33, "o" * 33
    put(clients, arn, "2026/11/21/[runtime-logs]1", [(900, "plain"), (800, sdk_line("done", mine)), (700, "later")])
    put(clients, arn, "2026/11/21/[runtime-logs]2", [(850, "foreign"), (750, sdk_line("done", other))])
    put(clients, arn, "otel-rt-logs", [(500, json.dumps({"attributes": {"session.id": mine}}))])
    put(
        clients,
        arn,
        "BedrockAgentCoreRuntime_ApplicationLogs",
        [(600, "whose?"), (550, sdk_line("old layout", mine))],
    )
    page = LogReader(clients).session_logs(arn, "DEFAULT", mine)
    assert [event.message for event in page] == ["plain", "done", "later", "old layout"]
    assert (page[1].session_id, page[1].level, page[1].request_id) == (mine, "INFO", "r")
    assert [event.timestamp_ms for event in page] == [NOW_MS - before for before in (900, 800, 700, 550)]
    assert page[0].timestamp == datetime.fromtimestamp((NOW_MS - 900) / 1000, UTC)


def test_an_agents_log_is_its_newest_lines_oldest_first(clients: Clients) -> None:
    arn = new_arn()
    put(clients, arn, "a", [(5000 - number, f"line {number}") for number in range(0, 50, 2)])
    put(clients, arn, "b", [(5000 - number, f"line {number}") for number in range(1, 50, 2)])
    put(clients, arn, "otel-rt-logs", [(1, "{}")])
    reader = LogReader(clients)
    assert [event.message for event in reader.agent_logs(arn, limit=3)] == ["line 47", "line 48", "line 49"]
    assert len(reader.agent_logs(arn, limit=1000)) == 50


def test_lines_that_are_days_old_are_found_too(clients: Clients) -> None:
    arn, day = new_arn(), 86_400_000
    put(clients, arn, "old", [(9 * day, "nine days"), (2 * day, "two days")])
    put(clients, arn, "new", [(5000, "now")])
    reader = LogReader(clients)
    assert [event.message for event in reader.agent_logs(arn, limit=2)] == ["two days", "now"]
    assert [event.message for event in reader.agent_logs(arn)] == ["nine days", "two days", "now"]
    since = datetime.now(UTC) - timedelta(days=3)
    assert [event.message for event in reader.agent_logs(arn, start=since)] == ["two days", "now"]
    assert [event.message for event in reader.agent_logs(arn, end=since)] == ["nine days"]


def test_streams_come_with_the_latest_first_and_without_aws_own_validation(clients: Clients) -> None:
    arn = new_arn()
    put(clients, arn, "first", [(3000, "x")])
    put(clients, arn, "last", [(1000, "x")])
    put(clients, arn, "log_stream_created_by_aws_to_validate_log_delivery_subscriptions validation", [(1, "x")])
    assert [stream.name for stream in LogReader(clients).streams(arn)] == ["last", "first"]


def test_an_agent_that_never_ran_has_an_empty_log_that_reports_it(clients: Clients) -> None:
    arn, reader = new_arn(), LogReader(clients)
    assert reader.agent_logs(arn).state == "no_group"
    assert reader.session_logs(arn, "DEFAULT", "s" * 33).state == "no_group"
    assert reader.streams(arn) == ()
    put(clients, arn, "a", [(5000, "x")])
    assert reader.session_logs(arn, "DEFAULT", "s" * 33).state == "empty"


def test_a_backend_that_ignores_filters_and_repeats_pages_changes_nothing(serve: Serve, clients_of: ClientsOf) -> None:
    arn, mine = new_arn(), "m" * 33
    events = [
        {"logStreamName": name, "timestamp": NOW_MS - before, "message": text, "eventId": f"{name}{before}"}
        for name, before, text in [
            ("one", 900, "plain"),
            ("two", 850, "foreign"),
            ("one", 800, sdk_line("done", mine)),
            ("one", 90_000_000, "long ago"),
        ]
    ]
    queries: list[dict[str, Any]] = []

    async def everything(request: Request, reply: Reply) -> None:
        query = json.loads(request.body)
        queries.append(query)
        page = int(query.get("nextToken", "0"))
        body: dict[str, Any] = {"events": events[page : page + 3]}
        if page < 1:
            body["nextToken"] = str(page + 1)
        await reply.whole(json.dumps(body).encode(), 200, "application/x-amz-json-1.1")

    reader = LogReader(clients_of(serve(everything).environment()))
    since = datetime.fromtimestamp((NOW_MS - 60_000) / 1000, UTC)
    page = reader.session_logs(arn, "DEFAULT", mine, start=since)
    assert [event.message for event in page] == ["plain", "done"]
    assert {query["filterPattern"] for query in queries if "filterPattern" in query} == {f'"{mine}"'}


def test_missing_permission_is_reported_and_not_shown_as_an_empty_log(serve: Serve, clients_of: ClientsOf) -> None:
    async def deny(request: Request, reply: Reply) -> None:
        body = json.dumps({"__type": "AccessDeniedException", "message": "not allowed: logs:FilterLogEvents"}).encode()
        await reply.whole(body, 400, "application/x-amz-json-1.1")

    server = serve(deny)
    reader = LogReader(clients_of(server.environment()))
    with pytest.raises(AccessDeniedError, match="logs:FilterLogEvents"):
        reader.agent_logs(new_arn())
    assert len(server.requests) == 2  # how streams are named, and then their lines; nothing is asked again


def test_times_without_a_zone_and_impossible_ranges_are_refused(clients: Clients) -> None:
    reader = LogReader(clients)
    with pytest.raises(ValueError, match="timezone"):
        reader.agent_logs(new_arn(), start=datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="start must not be after end"):
        reader.agent_logs(new_arn(), start=datetime(2026, 1, 2, tzinfo=UTC), end=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueError, match="limit"):
        reader.agent_logs(new_arn(), limit=0)
