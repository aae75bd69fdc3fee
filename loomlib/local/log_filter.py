"""FilterLogEvents as CloudWatch does it: every term counts, events in the order of time, pages that do not skip.

moto matches nothing for two quoted terms and everything for a JSON pattern, so this operation is answered here, from
moto's own store.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .logs import Logs
from .otlp import StoredEvent, TelemetryReader
from .wire import Refused

LARGEST_PAGE = 10_000
_RESTORED_WITHIN_S = 30.0
_TERM = re.compile(r'(?P<sign>[?-]?)(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|%(?P<regex>[^%]+)%|(?P<plain>[^\s"]+))')

STORED_IDS = 2**60
"""Added to the ids of stored telemetry, so that they differ from those of moto's events."""

_STORED_PAGE_BYTES = 1_000_000  # AWS ends a page at 1 MB; moto's events are short, and each page looks at all of them

Matches = Callable[[str], bool]
_Found = tuple[int, int, str, str, int]


class LogFilter:
    """Answers FilterLogEvents from the groups of moto's logs backend and from the stored telemetry."""

    def __init__(self, logs: Logs, telemetry: TelemetryReader) -> None:
        self._logs, self._telemetry = logs, telemetry

    async def filter_log_events(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the operation."""
        return await asyncio.to_thread(self._filter, parameters)

    def _filter(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        matches = compile_pattern(parameters.get("filterPattern") or "")
        name = group_of(parameters)
        begin, end = parameters.get("startTime") or 0, parameters.get("endTime") or math.inf
        limit = parameters.get("limit") or LARGEST_PAGE
        if not 1 <= limit <= LARGEST_PAGE:
            raise _invalid(f"limit must be between 1 and {LARGEST_PAGE}")
        after = read_token(parameters.get("nextToken"))
        wanted: set[str] = set(parameters.get("logStreamNames") or ())
        prefix = parameters.get("logStreamNamePrefix") or ""
        self._logs.wait_restored(_RESTORED_WITHIN_S)
        found: list[_Found] = []
        with self._logs.backend_lock:
            group = self._logs.backend().groups.get(name)
            if group is None:
                raise Refused("ResourceNotFoundException", 400, "The specified log group does not exist.")
            for stream_name, stream in group.streams.items():
                if not stream_name.startswith(prefix) or (wanted and stream_name not in wanted):
                    continue
                events: list[Any] = stream.events
                found.extend(
                    (event.timestamp, event.event_id, stream_name, event.message, event.ingestion_time)
                    for event in events
                    if begin <= event.timestamp <= end
                    and (event.timestamp, event.event_id) > after
                    and matches(event.message)
                )
            streams = {each for each in group.streams if each.startswith(prefix) and (not wanted or each in wanted)}
        stored = self._telemetry.events(
            name,
            begin_ms=begin,
            end_ms=end,
            streams=streams,
            containing=required_texts(parameters.get("filterPattern") or ""),
            after=(after[0], after[1] - STORED_IDS),
        )
        matching = (event for event in stored if matches(event.message))
        # One more than a page holds tells whether there is a next one.
        with contextlib.closing(stored):
            found += [
                (event.timestamp_ms, event.id + STORED_IDS, event.stream, event.message, event.visible_ms)
                for event in page_of(matching, limit + 1)
            ]
        found.sort(key=lambda item: item[:2])
        shown = [
            {
                "logStreamName": stream_name,
                "timestamp": timestamp,
                "message": message,
                "ingestionTime": ingested,
                "eventId": str(event_id),
            }
            for timestamp, event_id, stream_name, message, ingested in itertools.islice(_within(found), limit)
        ]
        more = {"nextToken": write_token(*found[len(shown) - 1][:2])} if len(found) > len(shown) else {}
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


def required_texts(pattern: str) -> list[str]:
    """Texts that every event matching the pattern contains, which a search can begin with."""
    terms = [term for term in _TERM.finditer(pattern.strip()) if not term["sign"] and term["regex"] is None]
    return [_text_of(term) for term in terms]


def page_of(events: Iterable[StoredEvent], limit: int) -> Iterator[StoredEvent]:
    """As many events as one page holds: `limit`, or 1 MB."""
    size = 0
    for event in itertools.islice(events, limit):
        yield event
        if size > _STORED_PAGE_BYTES:
            return
        size += len(event.message)


def _within(found: Iterable[_Found]) -> Iterator[_Found]:
    size = 0
    for event in found:
        if event[1] >= STORED_IDS:
            if size and size + len(event[3]) > _STORED_PAGE_BYTES:
                return
            size += len(event[3])
        yield event


def _test(term: re.Match[str]) -> Matches:
    if term["regex"] is not None:
        try:
            return lambda line, found=re.compile(term["regex"]): found.search(line) is not None
        except re.error as error:
            raise _invalid(f"Invalid regular expression: {error}") from error
    wanted = _text_of(term)
    return lambda line: wanted in line


def _text_of(term: re.Match[str]) -> str:
    return re.sub(r"\\(.)", r"\1", term["quoted"]) if term["quoted"] is not None else term["plain"]


def group_of(parameters: Mapping[str, Any]) -> str:
    """The log group that a request names, be it by its ARN."""
    return str(parameters.get("logGroupName") or parameters.get("logGroupIdentifier")).rpartition(":log-group:")[2]


def write_token(timestamp: int, event_id: int) -> str:
    """A place among events, as text."""
    return base64.urlsafe_b64encode(f"{timestamp}/{event_id}".encode()).decode()


def read_token(token: str | None) -> tuple[int, int]:
    """The place that a token means; the beginning when there is none."""
    if token is None:
        return (-1, -1)
    try:
        timestamp, _, event_id = base64.urlsafe_b64decode(token).decode().partition("/")
        return int(timestamp), int(event_id)
    except (ValueError, binascii.Error) as error:
        raise _invalid("The specified nextToken is invalid.") from error


def _invalid(message: str) -> Refused:
    return Refused("InvalidParameterException", 400, message)
