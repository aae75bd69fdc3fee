"""CloudWatch Logs as Loom reads it: every page, one quoted term, and nothing believed about the backend's filter."""

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
    """One event as CloudWatch keeps it. Times are Unix milliseconds."""

    event_id: str
    stream: str
    timestamp_ms: int
    message: str = field(repr=False)
    ingestion_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStream:
    """A log stream. Times are Unix milliseconds; AWS updates the last one within an hour or so."""

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
    """The events of `group` that contain `term`, from `start_ms` up to `end_ms` (both included), oldest first.

    Of `streams`, or of those whose names begin with `prefix` (the service takes one of the two).

    `term` goes to the service as one quoted term, whose matching is checked again here (JSON patterns and several
    terms are matched differently by different backends). An event that two pages repeat is returned once. Raises
    `ResourceNotFoundError` for a group that does not exist, and `RequestTimeoutError` with the code `TOO_MANY_PAGES` after `most_pages`
    of them: CloudWatch may look through a busy group a few megabytes a page, most of them empty.
    """
    chosen: list[Sequence[str] | None] = [None]
    if streams is not None:
        chosen = [streams[at : at + _STREAMS_A_CALL] for at in range(0, len(streams), _STREAMS_A_CALL)]
    kept: dict[tuple[str, str], StoredEvent] = {}
    query = _query(group, term, start_ms, end_ms)
    for some in chosen:
        for event in _pages(clients, group, region, query | _streams(some, prefix), most_pages):
            wanted = (
                (term is None or term in event.message)
                and (start_ms is None or event.timestamp_ms >= start_ms)
                and (end_ms is None or event.timestamp_ms <= end_ms)
                and (some is None or event.stream in some)
                and (prefix is None or event.stream.startswith(prefix))
            )
            if wanted:
                kept.setdefault((event.stream, event.event_id or f"no id, {len(kept)}"), event)
    return sorted(kept.values(), key=lambda event: event.timestamp_ms)


def list_streams(
    clients: Clients, group: str, *, region: str | None = None, limit: int | None = None
) -> list[LogStream]:
    """The streams of `group`, the one with the latest event first. Streams of AWS's own validation are left out."""
    found: list[LogStream] = []
    query: dict[str, Any] = {"logGroupName": group, "orderBy": "LastEventTime", "descending": True}
    with translated("Listing log streams", on=group):
        while True:
            page: dict[str, Any] = clients.logs(region).describe_log_streams(**query)
            for stream in page.get("logStreams", ()):
                if "validation" not in stream["logStreamName"].lower():
                    found.append(
                        LogStream(
                            name=stream["logStreamName"],
                            first_event_ms=stream.get("firstEventTimestamp"),
                            last_event_ms=stream.get("lastEventTimestamp"),
                        )
                    )
            token = page.get("nextToken")
            if not token or token == query.get("nextToken") or (limit is not None and len(found) >= limit):
                break
            query["nextToken"] = token
    found.sort(key=lambda stream: stream.last_event_ms or 0, reverse=True)
    return found[:limit]


def first_event_ms(clients: Clients, group: str, stream: str, *, region: str | None = None) -> int | None:
    """The time of a stream's first event (Unix milliseconds), None when the stream is empty or is not there."""
    with translated("Describing a log stream", on=stream):
        page: dict[str, Any] = clients.logs(region).describe_log_streams(
            logGroupName=group, logStreamNamePrefix=stream, limit=50
        )
    found = [each.get("firstEventTimestamp") for each in page.get("logStreams", ()) if each["logStreamName"] == stream]
    return found[0] if found else None


def has_stream(clients: Clients, group: str, prefix: str, *, region: str | None = None) -> bool:
    """Whether the group has a stream whose name begins with `prefix`."""
    with translated("Looking for log streams", on=group):
        page: dict[str, Any] = clients.logs(region).describe_log_streams(
            logGroupName=group, logStreamNamePrefix=prefix, limit=1
        )
    return bool(page.get("logStreams"))


def group_exists(clients: Clients, group: str, *, region: str | None = None) -> bool:
    """Whether there is a log group of exactly that name."""
    with translated("Looking for a log group", on=group):
        found: dict[str, Any] = clients.logs(region).describe_log_groups(logGroupNamePrefix=group, limit=50)
    return any(each["logGroupName"] == group for each in found.get("logGroups", ()))


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
            raise RequestTimeoutError(f"The log is not read after {number} pages", on=group, code=TOO_MANY_PAGES)
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
