"""FilterLogEvents as CloudWatch does it: every term counts, events in the order of time, pages that do not skip.

moto matches nothing for two quoted terms and everything for a JSON pattern, so this operation is answered here, from
moto's own store.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .logs import Logs
from .wire import Refused

TARGET = b"Logs_20140328.FilterLogEvents"
_LARGEST_PAGE = 10_000
_RESTORED_WITHIN_S = 30.0
_TERM = re.compile(r'(?P<sign>[?-]?)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|%(?P<regex>[^%]+)%|(?P<plain>[^\s"]+))')

Matches = Callable[[str], bool]


class LogFilter:
    """Answers FilterLogEvents from the groups of moto's logs backend."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs

    async def filter_log_events(self, body: bytes) -> dict[str, Any]:
        """The answer to a request's JSON body."""
        try:
            parameters: Mapping[str, Any] = json.loads(body)
        except ValueError as error:
            raise Refused("SerializationException", 400, "The request is no JSON") from error
        return await asyncio.to_thread(self._filter, parameters)

    def _filter(self, given: Mapping[str, Any]) -> dict[str, Any]:
        matches = compile_pattern(given.get("filterPattern") or "")
        name = str(given.get("logGroupName") or given.get("logGroupIdentifier")).rpartition(":log-group:")[2]
        begin, end = given.get("startTime") or 0, given.get("endTime") or float("inf")
        limit = given.get("limit") or _LARGEST_PAGE
        if not 1 <= limit <= _LARGEST_PAGE:
            raise _invalid(f"limit must be between 1 and {_LARGEST_PAGE}")
        after = _position(given.get("nextToken"))
        wanted: set[str] = set(given.get("logStreamNames") or ())
        prefix = given.get("logStreamNamePrefix") or ""
        self._logs.wait_restored(_RESTORED_WITHIN_S)
        found: list[tuple[int, int, str, Any]] = []
        with self._logs.backend_lock:
            group = self._logs.backend().groups.get(name)
            if group is None:
                raise Refused("ResourceNotFoundException", 400, "The specified log group does not exist.")
            for stream_name, stream in group.streams.items():
                if not stream_name.startswith(prefix) or (wanted and stream_name not in wanted):
                    continue
                events: list[Any] = stream.events
                found.extend(
                    (event.timestamp, event.event_id, stream_name, event)
                    for event in events
                    if begin <= event.timestamp <= end
                    and (event.timestamp, event.event_id) > after
                    and matches(event.message)
                )
        found.sort(key=lambda item: item[:2])
        shown = [
            {
                "logStreamName": stream_name,
                "timestamp": timestamp,
                "message": event.message,
                "ingestionTime": event.ingestion_time,
                "eventId": str(event_id),
            }
            for timestamp, event_id, stream_name, event in found[:limit]
        ]
        more = {"nextToken": _token(*found[limit - 1][:2])} if len(found) > limit else {}
        return {"events": shown, "searchedLogStreams": [], **more}


def compile_pattern(pattern: str) -> Matches:
    """A filter pattern for unstructured lines: words and "phrases" that must occur, -excluded, ?optional, %regex%.

    Source: CloudWatch Logs user guide, "Filter pattern syntax". Optional terms count only among themselves. JSON and
    space-delimited patterns are refused rather than matched wrongly.
    """
    text = pattern.strip()
    if text.startswith(("{", "[")):
        raise _invalid("The local AgentCore does not read JSON or space-delimited filter patterns; use quoted terms")
    required: list[Matches] = []
    optional: list[Matches] = []
    for term in _TERM.finditer(text):
        test = _test(term)
        if term["sign"] == "-":
            required.append(lambda line, test=test: not test(line))
        else:
            (optional if term["sign"] == "?" else required).append(test)
    if required:
        return lambda line: all(test(line) for test in required)
    return lambda line: not optional or any(test(line) for test in optional)


def _test(term: re.Match[str]) -> Matches:
    if term["regex"] is not None:
        try:
            return lambda line, found=re.compile(term["regex"]): found.search(line) is not None
        except re.error as error:
            raise _invalid(f"Invalid regular expression: {error}") from error
    wanted = re.sub(r"\\(.)", r"\1", term["quoted"]) if term["quoted"] is not None else term["plain"]
    return lambda line: wanted in line


def _token(timestamp: int, event_id: int) -> str:
    return base64.urlsafe_b64encode(f"{timestamp}/{event_id}".encode()).decode()


def _position(token: str | None) -> tuple[int, int]:
    if token is None:
        return (-1, -1)
    try:
        timestamp, _, event_id = base64.urlsafe_b64decode(token).decode().partition("/")
        return int(timestamp), int(event_id)
    except (ValueError, binascii.Error) as error:
        raise _invalid("The specified nextToken is invalid.") from error


def _invalid(message: str) -> Refused:
    return Refused("InvalidParameterException", 400, message)
