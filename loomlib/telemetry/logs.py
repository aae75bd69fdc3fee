"""Reading an agent's log: the newest lines of an endpoint or of one session."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from loomlib.errors import ResourceNotFoundError

from .log_events import LogEvent, log_event
from .log_streams import SHARED_STREAM, LogStreamReader
from .sources import RuntimeSource

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.logs import LogStream, StoredEvent

_FIRST_WINDOW_MS: Final = 10 * 60_000
_WINDOW_GROWTH: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Log lines, oldest first; iterable.

    Attributes:
        group: The log group.
        state: "found"; "empty": no line in that range; "no_group": the endpoint has no log group.
        events: The lines.
    """

    group: str
    state: str
    events: tuple[LogEvent, ...] = ()

    def __iter__(self) -> Iterator[LogEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __getitem__(self, index: int) -> LogEvent:
        return self.events[index]


class LogReader:
    """Reads logs through one connection, each agent's in its own region.

    A log group that does not exist (the agent never ran) gives an empty page with the state "no_group". Other errors
    are raised (`AccessDeniedError` and so on).

    Args:
        clients: The AWS clients of a connection.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._streams = LogStreamReader(clients)

    def agent_logs(
        self,
        source: RuntimeSource,
        qualifier: str = "DEFAULT",
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int = 100,
    ) -> LogPage:
        """Return the newest lines of an endpoint.

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
            start: Start of the range, timezone-aware and included.
            end: End of the range, timezone-aware and included.
            limit: Maximum number of lines to return.
        """
        group = source.log_group(qualifier)
        start_ms, end_ms = _unix_ms(start), _unix_ms(end)
        _check(limit, start_ms, end_ms)
        stored: list[StoredEvent] = []
        try:
            for since_ms, until_ms in _windows(start_ms, end_ms):
                stored = self._streams.read(source, group, start_ms=since_ms, end_ms=until_ms) + stored
                if len(stored) >= limit:
                    break
        except ResourceNotFoundError:
            return LogPage(group=group, state="no_group")
        return _page(group, stored[-limit:])

    def session_logs(
        self,
        source: RuntimeSource,
        qualifier: str,
        session_id: str,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int | None = 1000,
    ) -> LogPage:
        """Return the newest lines of the processes that served a session.

        A plain `print` carries no session id. So the streams that name the session anywhere are found first; a stream
        belongs to one process, and a process to one session, so all its lines count.

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
            session_id: The session.
            start: Start of the range, timezone-aware and included.
            end: End of the range, timezone-aware and included.
            limit: Maximum number of lines to return; None for all.
        """
        group = source.log_group(qualifier)
        start_ms, end_ms = _unix_ms(start), _unix_ms(end)
        _check(limit, start_ms, end_ms)
        from loomlib.aws.logs import filter_events

        try:
            naming = self._streams.read(source, group, term=session_id, start_ms=start_ms, end_ms=end_ms)
            streams = sorted({event.stream for event in naming} - {SHARED_STREAM})
            lines = [event for event in naming if event.stream == SHARED_STREAM]
            if streams:
                lines += filter_events(
                    self._clients, group, region=source.region, start_ms=start_ms, end_ms=end_ms, streams=streams
                )
        except ResourceNotFoundError:
            return LogPage(group=group, state="no_group")
        lines.sort(key=lambda event: event.timestamp_ms)
        return _page(group, lines if limit is None else lines[-limit:])

    def streams(
        self, source: RuntimeSource, qualifier: str = "DEFAULT", *, limit: int | None = 50
    ) -> Sequence[LogStream]:
        """Return the endpoint's log streams, latest first: one for each process that served a session.

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
            limit: Maximum number of streams to return; None for all.
        """
        from loomlib.aws.logs import list_streams

        try:
            return list_streams(self._clients, source.log_group(qualifier), region=source.region, limit=limit)
        except ResourceNotFoundError:
            return ()


def _windows(start_ms: int | None, end_ms: int | None) -> Iterator[tuple[int | None, int | None]]:
    """Yield adjoining time ranges from the newest to the oldest, each longer than the one before.

    FilterLogEvents only reads forward; without them the newest hundred lines would cost reading the whole log.
    """
    earliest = start_ms or 0
    until = end_ms
    now = end_ms if end_ms is not None else int(time.time() * 1000)
    length = _FIRST_WINDOW_MS
    since = now - length
    while since > earliest:
        yield since, until
        until, length = since - 1, length * _WINDOW_GROWTH
        since -= length
    yield start_ms, until


def _page(group: str, stored: Sequence[StoredEvent]) -> LogPage:
    events = tuple(log_event(event) for event in stored)
    return LogPage(group=group, state="found" if events else "empty", events=events)


def _unix_ms(at: datetime | None) -> int | None:
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError(f"a time for logs must be timezone-aware: {at.isoformat()}")
    return int(at.timestamp() * 1000)


def _check(limit: int | None, start_ms: int | None, end_ms: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    if start_ms is not None and end_ms is not None and start_ms > end_ms:
        raise ValueError("start must not be after end")
