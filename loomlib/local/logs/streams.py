"""DescribeLogStreams with the times of streams that hold telemetry, whose events moto does not have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..otlp import StreamTimes, TelemetryReader
from ..resources import Place
from .requests import group_not_found, group_of, invalid_parameter, limit_of
from .store import Logs

_LARGEST_PAGE = 50
_ORDERS = ("LogStreamName", "LastEventTime")


class LogStreams:
    """Answers DescribeLogStreams from moto's streams and the stored telemetry."""

    def __init__(self, logs: Logs, telemetry: TelemetryReader) -> None:
        self._logs, self._telemetry = logs, telemetry

    async def describe_log_streams(self, parameters: Mapping[str, Any], *, place: Place) -> dict[str, Any]:
        """Answer the operation."""
        return await asyncio.to_thread(self._describe, parameters, place)

    def _describe(self, parameters: Mapping[str, Any], place: Place) -> dict[str, Any]:
        limit, order, prefix, token = _options(parameters)
        name = group_of(parameters)
        self._logs.wait_current()
        with self._logs.backend_lock:
            group = self._logs.backend(place).groups.get(name)
            if group is None:
                raise group_not_found()
            streams: dict[str, dict[str, Any]] = {
                stream_name: stream.to_describe_dict()
                for stream_name, stream in group.streams.items()
                if stream_name.startswith(prefix)
            }
        for stream_name, times in self._telemetry.stream_times(self._logs.keys.of(place, name)).items():
            if stream_name in streams:
                streams[stream_name] = _with_telemetry(streams[stream_name], times)

        def position(stream: str) -> tuple[int, str]:
            return (streams[stream].get("lastEventTimestamp", 0) if order == "LastEventTime" else 0, stream)

        ordered = sorted(streams, key=position, reverse=bool(parameters.get("descending")))
        if token is not None and token not in streams:
            raise invalid_parameter("The specified nextToken is invalid.")
        first = 0 if token is None else ordered.index(token) + 1
        page = ordered[first : first + limit]
        more = {"nextToken": page[-1]} if len(ordered) > first + limit else {}
        return {"logStreams": [streams[stream_name] for stream_name in page], **more}


def _options(parameters: Mapping[str, Any]) -> tuple[int, str, str, str | None]:
    """Return limit, order, prefix and token, checked as CloudWatch checks them."""
    limit, order = limit_of(parameters, _LARGEST_PAGE), parameters.get("orderBy") or "LogStreamName"
    prefix = parameters.get("logStreamNamePrefix") or ""
    if order not in _ORDERS:
        raise invalid_parameter(f"orderBy must be one of {', '.join(_ORDERS)}")
    if order == "LastEventTime" and prefix:
        raise invalid_parameter("Cannot order by LastEventTime with a logStreamNamePrefix.")
    return limit, order, prefix, parameters.get("nextToken")


def _with_telemetry(stream: dict[str, Any], times: StreamTimes) -> dict[str, Any]:
    """Return the stream with the times of its telemetry, and of events that a client put there as well."""
    firsts = [times.first_ms, *([stream["firstEventTimestamp"]] if "firstEventTimestamp" in stream else [])]
    return stream | {
        "firstEventTimestamp": min(firsts),
        "lastEventTimestamp": max(times.last_ms, stream.get("lastEventTimestamp", 0)),
        "lastIngestionTime": max(times.ingested_ms, stream.get("lastIngestionTime", 0)),
    }
