"""Reading an agent's lines without the telemetry that lies in the same group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from log_groups import GROUP, SOURCE, LogGroups

from loomlib.aws.connection import Clients
from loomlib.telemetry import LogReader, list_processes

PROCESS = "2026/11/22/[runtime-logs]0b5c"
SHARED = "BedrockAgentCoreRuntime_ApplicationLogs"
SESSION = "s" * 33


def as_clients(groups: LogGroups) -> Clients:
    return cast("Clients", groups)


def never_whole(groups: LogGroups) -> bool:
    """Whether each query named the streams, or how their names begin, and none was of the telemetry."""
    selectors = [query.get("logStreamNamePrefix") or query.get("logStreamNames") for query in groups.queries]
    return bool(selectors) and all(selectors) and not any("otel" in str(selector) for selector in selectors)


def an_agents_group(**more: str) -> LogGroups:
    groups = LogGroups()
    groups.put(GROUP, f"served {SESSION}", stream=PROCESS)
    groups.put(GROUP, {"traceId": "1" * 32, "attributes": {"session.id": SESSION}}, stream="otel-rt-logs")
    for text, stream in more.items():
        groups.put(GROUP, text, stream=stream)
    return groups


def test_no_reader_of_lines_fetches_the_stream_of_telemetry() -> None:
    groups = an_agents_group()
    reader = LogReader(as_clients(groups))
    assert [event.stream for event in reader.agent_logs(SOURCE)] == [PROCESS]
    assert [event.stream for event in reader.session_logs(SOURCE, "DEFAULT", SESSION)] == [PROCESS]
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    assert [
        life.stream for life in list_processes(as_clients(groups), SOURCE, "DEFAULT", start=hour_ago).processes
    ] == [PROCESS]
    assert never_whole(groups)


def test_the_shared_stream_of_older_layouts_is_read_beside_those_of_processes() -> None:
    groups = an_agents_group(**{f"old layout {SESSION}": SHARED})
    reader = LogReader(as_clients(groups))
    assert [event.stream for event in reader.agent_logs(SOURCE)] == [PROCESS, SHARED]
    assert len(reader.session_logs(SOURCE, "DEFAULT", SESSION)) == 2
    assert never_whole(groups)


def test_streams_named_in_no_known_way_are_read_all_and_telemetry_is_dropped() -> None:
    groups = LogGroups()
    groups.put(GROUP, f"served {SESSION}", stream="one")
    groups.put(GROUP, {"session.id": SESSION}, stream="otel-rt-logs")
    reader = LogReader(as_clients(groups))
    assert [event.stream for event in reader.agent_logs(SOURCE)] == ["one"]
    assert [event.stream for event in reader.session_logs(SOURCE, "DEFAULT", SESSION)] == ["one"]


def test_a_group_is_asked_once_how_its_streams_are_named() -> None:
    queries: list[dict[str, Any]] = []

    class Counting(LogGroups):
        def describe_log_streams(self, *, logGroupName: str, logStreamNamePrefix: str, limit: int) -> dict[str, Any]:
            queries.append({"prefix": logStreamNamePrefix})
            return super().describe_log_streams(
                logGroupName=logGroupName, logStreamNamePrefix=logStreamNamePrefix, limit=limit
            )

    groups = Counting()
    reader = LogReader(as_clients(groups))
    assert reader.agent_logs(SOURCE).state == "no_group"
    groups.put(GROUP, "a line", stream=PROCESS)
    for _ in range(3):
        assert len(reader.agent_logs(SOURCE)) == 1
    assert len(queries) == 3  # once in vain, once for each layout
