"""The store of log lines: journaled in `logs.db`, visible through moto's logs backend."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from moto.logs.models import LogGroup, LogsBackend, logs_backends

from ..log_groups import GroupKeys
from ..resources import Place
from .journal import LogJournal
from .rotation import Rotation

_BATCH_PAUSE_S = 0.02
_RESTORED_WITHIN_S = 30.0
_CURRENT_WITHIN_S = 10.0
_NOTICE = "Loom: the oldest {lines:,} lines of this stream ({characters:,} characters) were dropped: it was too large"


class Line(NamedTuple):
    """One log line; `visible_at` is on the monotonic clock."""

    group: str
    stream: str
    timestamp_ms: int
    message: str
    visible_at: float


class Logs:
    """A `LogSink` whose `write` only appends to memory; a thread journals the lines and makes them visible.

    A line reaches the journal within about 20 ms. After a restart the newest 200,000 lines of 14 days are visible. Each
    stream keeps its newest 32 MiB, and all together 256 MiB (see `rotation`).

    Args:
        home: The home folder.
        account_id: The service's own account.
        region: Its own region.
        delay_s: Seconds for which a line stays invisible, to imitate CloudWatch's ingestion delay.
    """

    def __init__(self, home: Path, *, account_id: str, region: str, delay_s: float = 0.0) -> None:
        self.backend_lock = threading.Lock()
        self._home = home
        self.keys, self._delay_s = GroupKeys(Place(region, account_id)), delay_s
        self._arrived: deque[Line] = deque()
        self._hidden: deque[Line] = deque()
        self._deleted: deque[tuple[str, str]] = deque()
        self._rotation = Rotation()
        self._put_by_clients: deque[tuple[tuple[str, str], int]] = deque()
        self._places: deque[tuple[str, str, float]] = deque()
        self._readers: deque[threading.Event] = deque()
        self.on_forgotten: Callable[[list[tuple[str, str]]], object] = list
        self._wake, self._closing = threading.Event(), False
        self._restored = threading.Event()
        self._thread = threading.Thread(target=self._run, name="logs", daemon=True)
        self._thread.start()

    def write(self, *, group: str, stream: str, timestamp_ms: int, message: str) -> None:
        """Append a line to a stream.

        Args:
            group: The log group.
            stream: The stream's name.
            timestamp_ms: The event's time in Unix milliseconds.
            message: The line.
        """
        if not message.isascii():  # half a surrogate pair, such as YAML's "\\ud800", cannot be stored
            message = message.encode("utf-8", "replace").decode()
        self._arrived.append(
            Line(self.keys.stored(group), stream, timestamp_ms, message, time.monotonic() + self._delay_s)
        )
        if not self._wake.is_set():
            self._wake.set()

    def wait_restored(self, timeout_s: float = _RESTORED_WITHIN_S) -> bool:
        """Wait until the lines of earlier services are visible; return whether that succeeded."""
        return self._restored.wait(timeout_s)

    def wait_current(self, timeout_s: float = _CURRENT_WITHIN_S) -> None:
        """Wait until the lines of earlier services, and those that were written before this call, are visible.

        Lines that are delayed on purpose are not waited for.
        """
        self.wait_restored()
        if self._delay_s or self._closing:
            return
        current_event = threading.Event()
        self._readers.append(current_event)
        self._wake.set()
        current_event.wait(timeout_s)

    def backend(self, place: Place | None = None) -> LogsBackend:
        """Return moto's store of the groups and streams in a region and account; hold `backend_lock` while reading it.

        Args:
            place: The region and the account; None for the service's own.
        """
        region, account_id = place or self.keys.own_place
        return logs_backends[account_id][region]

    def places(self) -> set[tuple[str, str]]:
        """Return every stream as (group, stream), groups by their keys; hold `backend_lock`."""
        return {
            (self.keys.of(Place(str(region), str(account_id)), group.name), stream)
            for account_id, regions in list(logs_backends.items())
            for region, backend in list(regions.items())
            for group in backend.groups.values()
            for stream in group.streams
        }

    def count_put(self, group: str, stream: str, size_bytes: int) -> None:
        """Count the events that a client put into one of moto's streams, so that they are rotated as well.

        Args:
            group: The log group.
            stream: The stream's name.
            size_bytes: Size of the events in bytes.
        """
        self._put_by_clients.append(((group, stream), size_bytes))
        self._wake.set()

    def forget(self, places: Iterable[tuple[str, str]]) -> None:
        """Remove deleted streams from the journal, so that the next service does not restore them."""
        if deleted := list(places):
            self._deleted.extend(deleted)
            self._wake.set()
            self.on_forgotten(deleted)

    def create_streams(self, places: Iterable[tuple[str, str]]) -> None:
        """Create streams whose events are stored elsewhere, with the same delay as for a line that arrives now."""
        visible_at = time.monotonic() + self._delay_s
        self._places.extend((group, stream, visible_at) for group, stream in places)
        self._wake.set()

    def close(self) -> None:
        """Journal the pending lines and stop."""
        self._closing = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        journal = LogJournal(self._home)
        try:
            for rows in journal.read():
                self._put([Line(*row, 0.0) for row in rows])
            self._rotate(journal)
            self._restored.set()
            while not self._closing:
                self._wake.wait(self._until_next())
                if self._arrived and not self._readers and not self._closing:
                    time.sleep(_BATCH_PAUSE_S)  # one transaction for a burst, and no work during an invocation
                self._wake.clear()
                readers = [self._readers.popleft() for _ in range(len(self._readers))]
                self._store(journal)
                self._show()
                for reader in readers:
                    reader.set()
                self._rotate(journal)
            self._store(journal)
        finally:
            self._restored.set()
            for reader in self._readers:
                reader.set()
            journal.close()

    def _until_next(self) -> float | None:
        due = [self._hidden[0].visible_at] if self._hidden else []
        due += [self._places[0][2]] if self._places else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _store(self, journal: LogJournal) -> None:
        deleted = [self._deleted.popleft() for _ in range(len(self._deleted))]
        for place in deleted:
            self._rotation.forget(place)
        journal.forget(deleted)
        lines = [self._arrived.popleft() for _ in range(len(self._arrived))]
        self._hidden.extend(lines)
        journal.append([line[:4] for line in lines])

    def _show(self) -> None:
        due: list[Line] = []
        moment = time.monotonic()
        while self._hidden and self._hidden[0].visible_at <= moment:
            due.append(self._hidden.popleft())
        self._put(due)
        while self._places and self._places[0][2] <= moment:
            with self.backend_lock:
                self._make_place(*self._places.popleft()[:2])

    def _rotate(self, journal: LogJournal) -> None:
        """Drop the oldest lines of streams beyond their limit, and add a line that says so."""
        while self._put_by_clients:
            self._rotation.add(*self._put_by_clients.popleft())
        while place := self._rotation.overfull():
            group, stream = place
            with self.backend_lock:
                place_of_group, name = self.keys.split(group)
                log_group = self.backend(place_of_group).groups.get(name)
                if log_group is None or stream not in log_group.streams:
                    self._rotation.forget(place)
                    continue
                events = log_group.streams[stream].events
                count = self._rotation.surplus(place, [event.message for event in events])
                if not count:
                    self._rotation.forget(place)
                    continue
                dropped_chars = sum(len(event.message) for event in events[:count])
                moment_ms = events[count - 1].timestamp
                del events[:count]
            self.write(
                group=group,
                stream=stream,
                timestamp_ms=moment_ms,
                message=_NOTICE.format(lines=count, characters=dropped_chars),
            )
            journal.drop_oldest(place, count)

    def _put(self, lines: list[Line]) -> None:
        """Add lines to moto's backend, creating groups and streams as needed."""
        if not lines:
            return
        for (group_name, stream_name), lines_of_one in itertools.groupby(lines, key=lambda line: line[:2]):
            run = list(lines_of_one)
            self._rotation.count((group_name, stream_name), [line.message for line in run])
            with self.backend_lock:
                group = self._make_place(group_name, stream_name)
                # Straight to the group: PutLogEvents' checks of age and size are for clients.
                group.put_log_events(
                    stream_name,
                    [{"timestamp": line.timestamp_ms, "message": line.message} for line in run],
                )

    def _make_place(self, key: str, stream_name: str) -> LogGroup:
        place, name = self.keys.split(key)
        backend = self.backend(place)
        if name not in backend.groups:
            backend.create_log_group(name, {})
        if stream_name not in backend.groups[name].streams:
            backend.groups[name].create_log_stream(stream_name)
        return backend.groups[name]
