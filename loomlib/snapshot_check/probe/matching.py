"""Recognizes the results of traced functions in the values that the agent keeps."""

from __future__ import annotations

import datetime
import os
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from .sources import CLOCK, ID, RANDOM
from .tracing import Event

_WINDOW = 8
_SHORTEST_PART = 3
_MOST_TEXT = 20_000
_TOLERANCE_S = 0.01
_GENERATING = ("uuid.", "secrets.token", "tempfile.")
_DATE_FORMS = (
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%S", "%Y%m%d%H%M%S", "%Y%m%d-%H%M%S", "%Y%m%d_%H%M%S",
    "%Y-%m-%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y%m%d", "%B %d, %Y", "%d %B %Y", "%b %d, %Y",
    "%d %b %Y", "%a %b %d", "%A, %d %B", "%A, %B %d", "%H:%M:%S",
)  # fmt: skip
_SCALES = (1.0, 1e3, 1e6, 1e9)  # seconds to nanoseconds
BUCKETS_S = (10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 86_400)

LineSpan = tuple[str, int, int]
"""A file of the agent, and the first and last line of a statement."""


class Matcher:
    """Finds the traced call that a value comes from.

    Args:
        events: The traced calls. Those that a library made for itself only show which clock readings are its own.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._exact: dict[Any, list[Event]] = {}
        self._windows: dict[str, list[Event]] = {}
        self._hosts: list[tuple[str, Event]] = []
        self._clocks: list[tuple[float, float, Event]] = []
        self._texts: dict[str, list[Event]] = {}
        self._buckets: dict[int, list[Event]] = {}
        for event in events:
            if event.source.kind == CLOCK:
                self._add_clock(event)
            elif event.source.kind in (ID, RANDOM) and event.is_direct:
                for value in event.values:
                    self._add(value, event)

    def match(self, value: Any, span: LineSpan) -> Event | None:
        """Return the call that a value comes from, or None.

        Args:
            value: The value.
            span: The lines that assign what holds it; of several calls the one from there is preferred.
        """
        if isinstance(value, bool):
            return None
        if isinstance(value, str):
            return _preferred(self._exact.get(value, ()), span) or self._match_text(value, span)
        if isinstance(value, bytes | bytearray):
            data = bytes(value[:_MOST_TEXT])
            texts = (data.hex(), data.decode("latin-1"))
            matches = (self._match_text(text, span) for text in texts)
            return _preferred(self._exact.get(bytes(value), ()), span) or next(filter(None, matches), None)
        if isinstance(value, int | float):
            return _preferred(self._exact.get(value, ()), span) or self.match_bucket(value, span) or self._near(value)
        if isinstance(value, uuid.UUID):
            return _preferred(self._exact.get(value, ()), span)
        if isinstance(value, time.struct_time):
            return self._match_date(datetime.datetime(*value[:6]), span)
        return self._match_date(value, span) if isinstance(value, datetime.date) else None

    def match_bucket(self, value: Any, span: LineSpan = ("", 0, 0)) -> Event | None:
        """Return the clock whose reading, divided into intervals, is the value."""
        if not isinstance(value, int) or value < 10_000:
            return None
        return _preferred(self._buckets.get(value, ()), span)

    def _add(self, value: Any, event: Event) -> None:
        name = event.source.name
        if value is None or isinstance(value, bool):
            return
        if name in ("socket.gethostname", "platform.node"):
            if len(str(value)) >= 3:
                self._hosts.append((str(value), event))
        elif isinstance(value, uuid.UUID):
            self._add_exact(value, event)
            self._add_exact(value.int, event)
            self._add_text(value.hex, event)
            self._add_text(str(value), event)
        elif isinstance(value, str):
            if name.startswith(_GENERATING):  # `choice` returns a constant of the agent's
                self._add_exact(value, event)
                self._add_text(os.path.basename(value), event)
        elif isinstance(value, bytes):
            if len(value) >= 4:
                self._add_exact(value, event)
            self._add_text(value.hex(), event)
        elif isinstance(value, float):
            self._add_exact(value, event)
            if len(repr(value)) > 10:
                self._add_text(repr(value), event)
        elif isinstance(value, int):
            # Small numbers, such as pids in a namespace of processes, equal too many others.
            if abs(value) >= (1_000 if name.startswith("os.get") else 10_000):
                self._add_exact(value, event)
            self._add_text(str(value), event)
            self._add_text(f"{value:x}", event)
        elif isinstance(value, list | tuple):
            items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            for item in items[:20]:
                if isinstance(item, float) or (isinstance(item, int) and abs(item) >= 10_000):
                    self._add(item, event)
            if name.startswith("tempfile.") and isinstance(items[-1], str):
                self._add(items[-1], event)
        elif isinstance(path := getattr(value, "name", None), str):
            self._add(path, event)

    def _add_exact(self, value: Any, event: Event) -> None:
        self._exact.setdefault(value, []).append(event)

    def _add_text(self, text: str, event: Event) -> None:
        for at in range(min(len(text), 200) - _WINDOW + 1):
            self._windows.setdefault(text[at : at + _WINDOW], []).append(event)

    def _add_clock(self, event: Event) -> None:
        if event.source.family == "monotonic":
            self._clocks += [(first, last, event) for first, last in event.spans]
            return
        self._clocks += [(first, last, event) for first, last in event.spans]
        for reading in {reading for span in event.spans for reading in span} if event.is_direct else ():
            for bucket in BUCKETS_S:
                for number in {int(reading // bucket), round(reading / bucket)}:
                    self._buckets.setdefault(number, []).append(event)
            moments = (time.gmtime(reading), time.localtime(reading))
            forms = {time.strftime(form, moment) for form in _DATE_FORMS for moment in moments}
            for text in {str(int(reading)), *forms}:
                self._texts.setdefault(text, []).append(event)

    def _match_text(self, text: str, span: LineSpan) -> Event | None:
        text = text[:_MOST_TEXT]
        if self._windows:
            for at in range(len(text) - _WINDOW + 1):
                if (events := self._windows.get(text[at : at + _WINDOW])) is not None:
                    return _preferred(events, span)
        candidates = [event for form, events in self._texts.items() if form in text for event in events]
        candidates += [event for host, event in self._hosts if host == text or (len(host) >= 6 and host in text)]
        return _preferred(candidates, span)

    def _near(self, value: float) -> Event | None:
        nearest, distance = None, _TOLERANCE_S
        for first, last, event in self._clocks:
            if event.source.name.endswith(("monotonic_ns", "perf_counter_ns")):
                differences = [_outside(value, first, last) / 1e9]
            elif isinstance(value, float):
                differences = [_outside(value, first, last)]
            else:  # a whole number of seconds, milliseconds, …: the rest is cut off
                differences = [0.0 for scale in _SCALES if first - 1 / scale < value / scale < last + 0.02]
            for difference in differences:
                if difference < distance:
                    nearest, distance = event, difference
        return nearest if nearest is not None and nearest.is_direct else None

    def _match_date(self, value: datetime.date, span: LineSpan) -> Event | None:
        clocks = [clock for clock in self._clocks if clock[2].source.family != "monotonic"]
        if not isinstance(value, datetime.datetime):
            candidates = [
                event for first, last, event in clocks for reading in (first, last)
                if event.is_direct and value in (
                    datetime.date.fromtimestamp(reading), datetime.datetime.fromtimestamp(reading, datetime.UTC).date()
                )
            ]  # fmt: skip
            return _preferred(candidates, span)
        moments = [value.timestamp()]
        if value.tzinfo is None:
            moments.append(value.replace(tzinfo=datetime.UTC).timestamp())
        near = [
            (_outside(moment, first, last), event) for first, last, event in clocks for moment in moments
            if first - 1.0 <= moment < last + 0.5
        ]  # fmt: skip
        if value.microsecond:
            event = min(near, key=lambda pair: pair[0], default=(0.0, None))[1]
            return event if event is not None and event.is_direct else None
        return _preferred([event for _, event in near if event.is_direct], span)


def _outside(value: float, first: float, last: float) -> float:
    """Return how far a value lies outside a span; 0 inside."""
    return max(first - value, value - last, 0.0)


def is_part_of(value: Any, event: Event) -> bool:
    """Return whether a value is the call's result, or a text that shares a run of three or more characters with it.

    Short parts occur in other values by chance, so ask only about a call that the statement of the value makes.
    """
    if isinstance(value, bool) or value in ("", None):
        return False
    if value in event.values:
        return True
    if not isinstance(value, str):
        return False
    texts = [text for returned in event.values for text in _texts_of(returned)]
    size = min(_SHORTEST_PART, len(value))
    parts = {value[at : at + size] for at in range(min(len(value), _MOST_TEXT) - size + 1)}
    return any(part in text for part in parts for text in texts)


def _texts_of(returned: Any) -> list[str]:
    if isinstance(returned, uuid.UUID):
        return [returned.hex, str(returned)]
    if isinstance(returned, bytes):
        return [returned.hex()]
    return [returned] if isinstance(returned, str) else []


def _preferred(events: Sequence[Event], span: LineSpan) -> Event | None:
    """Return the event of a statement, else one of a date, else the first."""
    for event in events:
        for place in (event.line, event.root):
            if place is not None and place[0] == span[0] and span[1] <= place[1] <= span[2]:
                return event
    return next((event for event in events if event.source.family == "date"), events[0] if events else None)
