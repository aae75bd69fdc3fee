"""GetLogEvents of streams that hold telemetry, forwards and backwards."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping
from typing import Any

from ..otlp import TelemetryReader
from ..resources import Place
from .requests import LARGEST_PAGE, group_of, limit_of, page_of, read_token, write_token
from .store import Logs


class LogEvents:
    """Answers GetLogEvents from stored telemetry; moto answers for the other streams."""

    def __init__(self, logs: Logs, telemetry: TelemetryReader) -> None:
        self._logs, self._telemetry = logs, telemetry

    async def get_log_events(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any] | None:
        """Return a page of events, or None when the stream holds no telemetry."""
        return await asyncio.to_thread(self._read, parameters, place)

    def _read(self, parameters: Mapping[str, Any], caller: Place) -> dict[str, Any] | None:
        place = (self._logs.keys.of(caller, group_of(parameters)), str(parameters.get("logStreamName")))
        self._logs.wait_current()
        with self._logs.backend_lock:
            is_known = place in self._logs.places()
        if not is_known or place not in self._telemetry.places():
            return None
        limit = limit_of(parameters, LARGEST_PAGE)
        direction, _, token = str(parameters.get("nextToken") or "").partition("/")
        position = read_token(token) if token else None
        backwards = direction == "b" if position else not parameters.get("startFromHead")
        after, before = (position, None) if position and not backwards else (None, position)
        events = self._telemetry.events(
            place[0],
            begin_ms=parameters.get("startTime") or 0,
            end_ms=(parameters.get("endTime") or math.inf) - 1,
            streams=(place[1],),
            newest_first=backwards,
            after=after or (-1, -1),
            before=before or (2**62, 0),
        )
        with contextlib.closing(events):
            page = list(page_of(events, limit))
        if backwards:
            page.reverse()
        first, last = (
            ((page[0].timestamp_ms, page[0].id), (page[-1].timestamp_ms, page[-1].id))
            if page
            else (position or (0, 0), position or (0, 0))
        )
        return {
            "events": [
                {"timestamp": event.timestamp_ms, "message": event.message, "ingestionTime": event.visible_ms}
                for event in page
            ],
            "nextForwardToken": f"f/{write_token(*last)}",
            "nextBackwardToken": f"b/{write_token(*first)}",
        }
