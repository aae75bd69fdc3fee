"""FilterLogEvents as CloudWatch answers it: all terms are matched, events are ordered by time, pages do not skip any.

moto matches nothing for two quoted terms and everything for a JSON pattern, so this operation is answered here, from
moto's own store.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..otlp import TelemetryReader
from ..resources import Place
from .patterns import compile_pattern, required_texts
from .requests import LARGEST_PAGE, PAGE_BYTES, group_not_found, group_of, limit_of, page_of, read_token, write_token
from .store import Logs

STORED_IDS = 2**60
"""Added to the ids of stored telemetry, so that they differ from those of moto's events."""

_FoundEvent = tuple[int, int, str, str, int]  # time, id, stream, message, time of ingestion; times in ms


class LogFilter:
    """Answers FilterLogEvents from the groups of moto's logs backend and from the stored telemetry."""

    def __init__(self, logs: Logs, telemetry: TelemetryReader) -> None:
        self._logs, self._telemetry = logs, telemetry

    async def filter_log_events(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Answer FilterLogEvents."""
        return await asyncio.to_thread(self._filter, parameters, place)

    def _filter(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        pattern = parameters.get("filterPattern") or ""
        matches, name = compile_pattern(pattern), group_of(parameters)
        begin, end = parameters.get("startTime") or 0, parameters.get("endTime") or math.inf
        limit, after = limit_of(parameters, LARGEST_PAGE), read_token(parameters.get("nextToken"))
        stream_names: set[str] = set(parameters.get("logStreamNames") or ())
        prefix = parameters.get("logStreamNamePrefix") or ""
        self._logs.wait_current()
        events: list[_FoundEvent] = []
        with self._logs.backend_lock:
            group = self._logs.backend(place).groups.get(name)
            if group is None:
                raise group_not_found()
            streams = {
                stream_name: stream
                for stream_name, stream in group.streams.items()
                if stream_name.startswith(prefix) and (not stream_names or stream_name in stream_names)
            }
            stored: list[tuple[str, list[Any]]] = [(item, list(stream.events)) for item, stream in streams.items()]
        # Matched after the lock is released: new lines must not wait for a slow pattern.
        for stream_name, candidates in stored:
            events.extend(
                (event.timestamp, event.event_id, stream_name, event.message, event.ingestion_time)
                for event in candidates
                if begin <= event.timestamp <= end
                and (event.timestamp, event.event_id) > after
                and matches(event.message)
            )
        telemetry = self._telemetry.events(
            self._logs.keys.of(place, name),
            begin_ms=begin,
            end_ms=end,
            streams=set(streams),
            containing=required_texts(pattern),
            after=(after[0], after[1] - STORED_IDS),
        )
        with contextlib.closing(telemetry):
            # One event more than fits on a page shows whether there is a next page.
            events += [
                (event.timestamp_ms, event.id + STORED_IDS, event.stream, event.message, event.visible_ms)
                for event in page_of((event for event in telemetry if matches(event.message)), limit + 1)
            ]
        events.sort(key=lambda event: event[:2])
        page = [
            {
                "logStreamName": stream_name,
                "timestamp": timestamp,
                "message": message,
                "ingestionTime": ingested,
                "eventId": str(event_id),
            }
            for timestamp, event_id, stream_name, message, ingested in itertools.islice(_first_bytes(events), limit)
        ]
        more = {"nextToken": write_token(*events[len(page) - 1][:2])} if len(events) > len(page) else {}
        return {"events": page, "searchedLogStreams": [], **more}


def _first_bytes(events: Iterable[_FoundEvent]) -> Iterator[_FoundEvent]:
    """Yield events until they fill a page's bytes."""
    size = 0
    for event in events:
        if size and size + len(event[3]) > PAGE_BYTES:
            return
        size += len(event[3])
        yield event
