"""CloudWatch Logs: all pages, one quoted term, and matches that are checked again locally."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.errors import RequestTimeoutError

from .connection import Clients
from .errors import translated

TOO_MANY_PAGES: Final = "TooManyPages"
_STREAMS_A_CALL: Final = 100
_EVENTS_A_PAGE: Final = 10_000
"""FilterLogEvents' limits (CloudWatch Logs API reference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """A stored log event. Times are Unix milliseconds."""

    event_id: str
    stream: str
    timestamp_ms: int
    message: str = field(repr=False)
    ingestion_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStream:
    """A log stream. Times are Unix milliseconds; AWS updates the last one within about an hour."""

    name: str
    first_event_ms: int | None = None
    last_event_ms: int | None = None


def filter_events(
    clients: Clients,
    group: str,
    *,
    region: str | None = None,
    term: str | None = None,
    start_ms: int | None = None,
    end_ms: int | None = None,
    streams: Sequence[str] | None = None,
    prefix: str | None = None,
    most_pages: int | None = None,
) -> list[StoredEvent]:
    """Return the events of a log group that contain a term, oldest first.

    The term is sent as one quoted term and checked again locally, because backends match JSON patterns and several
    terms differently. An event that two pages repeat is returned once.

    Args:
        clients: The AWS clients of a connection.
        group: The log group's name.
        region: The region, if it is not the connection's.
        term: A text that the events contain; every event by default.
        start_ms: Start of the time range in Unix milliseconds, inclusive.
        end_ms: End of the time range in Unix milliseconds, inclusive.
        streams: Only these streams; the service accepts either this or `prefix`.
        prefix: Only streams whose names begin with this.
        most_pages: The maximum number of pages to read; no limit by default.

    Raises:
        ResourceNotFoundError: The group does not exist.
        RequestTimeoutError: `most_pages` pages were read (code `TOO_MANY_PAGES`): CloudWatch may read a busy group in
            pages of a few megabytes, most of them empty.
    """
    chosen: list[Sequence[str] | None] = [None]
    if streams is not None:
        chosen = [streams[at : at + _STREAMS_A_CALL] for at in range(0, len(streams), _STREAMS_A_CALL)]
    events: dict[tuple[str, str], StoredEvent] = {}
    query = _query(group, term, start_ms, end_ms)
    for batch in chosen:
        for event in _pages(clients, group, region, query | _streams(batch, prefix), most_pages):
            is_match = (
                (term is None or term in event.message)
                and (start_ms is None or event.timestamp_ms >= start_ms)
                and (end_ms is None or event.timestamp_ms <= end_ms)
                and (batch is None or event.stream in batch)
                and (prefix is None or event.stream.startswith(prefix))
            )
            if is_match:
                events.setdefault((event.stream, event.event_id or f"no id, {len(events)}"), event)
    return sorted(events.values(), key=lambda event: event.timestamp_ms)


def list_streams(
    clients: Clients, group: str, *, region: str | None = None, limit: int | None = None
) -> list[LogStream]:
    """Return the streams of `group`, most recent event first, without the streams that AWS creates to check access.

    Args:
        clients: The AWS clients of a connection.
        group: The log group's name.
        region: The region, if it is not the connection's.
        limit: The maximum number of streams; all by default.
    """
    streams: list[LogStream] = []
    query: dict[str, Any] = {"logGroupName": group, "orderBy": "LastEventTime", "descending": True}
    with translated("Listing log streams", on=group):
        while True:
            page: dict[str, Any] = clients.logs(region).describe_log_streams(**query)
            for stream in page.get("logStreams", ()):
                if "validation" not in stream["logStreamName"].lower():
                    streams.append(
                        LogStream(
                            name=stream["logStreamName"],
                            first_event_ms=stream.get("firstEventTimestamp"),
                            last_event_ms=stream.get("lastEventTimestamp"),
                        )
                    )
            token = page.get("nextToken")
            if not token or token == query.get("nextToken") or (limit is not None and len(streams) >= limit):
                break
            query["nextToken"] = token
    streams.sort(key=lambda stream: stream.last_event_ms or 0, reverse=True)
    return streams[:limit]


def first_event_ms(clients: Clients, group: str, stream: str, *, region: str | None = None) -> int | None:
    """Return the time of a stream's first event (Unix milliseconds), or None when it is empty or missing.

    Args:
        clients: The AWS clients of a connection.
        group: The log group's name.
        stream: The stream's exact name.
        region: The region, if it is not the connection's.
    """
    with translated("Describing a log stream", on=stream):
        page: dict[str, Any] = clients.logs(region).describe_log_streams(
            logGroupName=group, logStreamNamePrefix=stream, limit=50
        )
    times = [item.get("firstEventTimestamp") for item in page.get("logStreams", ()) if item["logStreamName"] == stream]
    return times[0] if times else None


def has_stream(clients: Clients, group: str, prefix: str, *, region: str | None = None) -> bool:
    """Return whether the group has a stream whose name begins with `prefix`.

    Args:
        clients: The AWS clients of a connection.
        group: The log group's name.
        prefix: The beginning of a stream's name.
        region: The region, if it is not the connection's.
    """
    with translated("Looking for log streams", on=group):
        page: dict[str, Any] = clients.logs(region).describe_log_streams(
            logGroupName=group, logStreamNamePrefix=prefix, limit=1
        )
    return bool(page.get("logStreams"))


def group_exists(clients: Clients, group: str, *, region: str | None = None) -> bool:
    """Return whether a log group has exactly that name.

    Args:
        clients: The AWS clients of a connection.
        group: The log group's exact name.
        region: The region, if it is not the connection's.
    """
    with translated("Looking for a log group", on=group):
        groups: dict[str, Any] = clients.logs(region).describe_log_groups(logGroupNamePrefix=group, limit=50)
    return any(item["logGroupName"] == group for item in groups.get("logGroups", ()))


def _query(group: str, term: str | None, start_ms: int | None, end_ms: int | None) -> dict[str, Any]:
    query: dict[str, Any] = {"logGroupName": group, "limit": _EVENTS_A_PAGE}
    if term:
        escaped = term.replace("\\", "\\\\").replace('"', '\\"')
        query["filterPattern"] = f'"{escaped}"'
    if start_ms is not None:
        query["startTime"] = max(0, start_ms)
    if end_ms is not None:
        query["endTime"] = max(0, end_ms)
    return query


def _streams(names: Sequence[str] | None, prefix: str | None) -> dict[str, Any]:
    if names is not None:
        return {"logStreamNames": list(names)}
    return {} if prefix is None else {"logStreamNamePrefix": prefix}


def _pages(
    clients: Clients, group: str, region: str | None, query: dict[str, Any], most_pages: int | None
) -> Iterator[StoredEvent]:
    for number in itertools.count():
        if number == most_pages:
            raise RequestTimeoutError(
                f"The log was not read completely within {number} pages",
                on=group,
                try_="a shorter time range",
                code=TOO_MANY_PAGES,
            )
        with translated("Reading logs", on=group):
            page: dict[str, Any] = clients.logs(region).filter_log_events(**query)
        for event in page.get("events", ()):
            yield StoredEvent(
                event_id=str(event.get("eventId", "")),
                stream=str(event.get("logStreamName", "")),
                timestamp_ms=int(event.get("timestamp", 0)),
                message=str(event.get("message", "")),
                ingestion_ms=int(event.get("ingestionTime", 0)),
            )
        token = page.get("nextToken")
        if not token or token == query.get("nextToken"):
            return
        query = {**query, "nextToken": token}
