"""DescribeLogStreams, with the times of streams that hold telemetry, whose events moto does not have."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .log_filter import group_of
from .logs import Logs
from .otlp import StreamTimes, TelemetryReader
from .wire import Refused

_LARGEST_PAGE = 50
_RESTORED_WITHIN_S = 30.0
_ORDERS = ("LogStreamName", "LastEventTime")


class LogStreams:
    """Answers DescribeLogStreams from moto's streams and the stored telemetry."""

    def __init__(self, logs: Logs, telemetry: TelemetryReader) -> None:
        self._logs, self._telemetry = logs, telemetry

    async def describe_log_streams(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the operation."""
        return await asyncio.to_thread(self._describe, parameters)

    def _describe(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        limit, order, prefix, token = _options(parameters)
        name = group_of(parameters)
        self._logs.wait_restored(_RESTORED_WITHIN_S)
        with self._logs.backend_lock:
            group = self._logs.backend().groups.get(name)
            if group is None:
                raise Refused("ResourceNotFoundException", 400, "The specified log group does not exist.")
            found: dict[str, dict[str, Any]] = {
                each: stream.to_describe_dict() for each, stream in group.streams.items() if each.startswith(prefix)
            }
        for each, times in self._telemetry.stream_times(name).items():
            if each in found:
                found[each] = _with_telemetry(found[each], times)

        def place(stream: str) -> tuple[int, str]:
            return (found[stream].get("lastEventTimestamp", 0) if order == "LastEventTime" else 0, stream)

        ordered = sorted(found, key=place, reverse=bool(parameters.get("descending")))
        if token is not None and token not in found:
            raise _invalid("The specified nextToken is invalid.")
        first = 0 if token is None else ordered.index(token) + 1
        page = ordered[first : first + limit]
        more = {"nextToken": page[-1]} if len(ordered) > first + limit else {}
        return {"logStreams": [found[each] for each in page], **more}


def _options(parameters: Mapping[str, Any]) -> tuple[int, str, str, str | None]:
    """Limit, order, prefix and token, as CloudWatch takes them."""
    limit, order = parameters.get("limit") or _LARGEST_PAGE, parameters.get("orderBy") or "LogStreamName"
    prefix = parameters.get("logStreamNamePrefix") or ""
    if not isinstance(limit, int) or not 1 <= limit <= _LARGEST_PAGE:
        raise _invalid(f"limit must be between 1 and {_LARGEST_PAGE}")
    if order not in _ORDERS:
        raise _invalid(f"orderBy must be one of {', '.join(_ORDERS)}")
    if order == "LastEventTime" and prefix:
        raise _invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    return limit, order, prefix, parameters.get("nextToken")


def _with_telemetry(stream: dict[str, Any], times: StreamTimes) -> dict[str, Any]:
    """The stream with the times of its telemetry; should a client have put events there too, with both."""
    firsts = [times.first_ms, *([stream["firstEventTimestamp"]] if "firstEventTimestamp" in stream else [])]
    return stream | {
        "firstEventTimestamp": min(firsts),
        "lastEventTimestamp": max(times.last_ms, stream.get("lastEventTimestamp", 0)),
        "lastIngestionTime": max(times.ingested_ms, stream.get("lastIngestionTime", 0)),
    }


def _invalid(message: str) -> Refused:
    return Refused("InvalidParameterException", 400, message)
