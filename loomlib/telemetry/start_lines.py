"""The log line that an agent writes when it starts: `Agent invoked - Start time: {ISO}`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from .log_events import LogEvent

_LINE: Final = re.compile(
    r"Agent invoked - Start time:\s*"
    r"(?P<time>\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?\s?(?:Z|[+-]\d{2}(?::?\d{2})?)?)(?!\d)"
)

WINDOW_S: Final = 15.0
"""How far an agent's clock may be off for a line to count as an invocation's, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLine:
    """One start line of an agent.

    Attributes:
        time: The start on the agent's clock, in UTC.
        event: The log line that states it.
    """

    time: datetime
    event: LogEvent


def parse_start(text: str) -> datetime | None:
    """Return the start time that `text` states, None when there is none; a time without a zone is UTC."""
    match = _LINE.search(text)
    if match is None:
        return None
    try:
        time = datetime.fromisoformat(match["time"].replace(" ", "T", 1).replace(" ", "").replace(",", "."))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def start_lines(events: Iterable[LogEvent], session_id: str | None = None) -> list[StartLine]:
    """Return all starts in log lines, in their order.

    Args:
        events: The log lines.
        session_id: Leave out lines that name another session.
    """
    starts: list[StartLine] = []
    for event in events:
        if session_id is not None and event.session_id not in (None, session_id):
            continue
        time = parse_start(event.message) or parse_start(event.raw)
        if time is not None:
            starts.append(StartLine(time=time, event=event))
    return starts


def parse_start_time(events: Iterable[LogEvent], session_id: str | None = None) -> datetime | None:
    """Return the first start time in log lines, None when there is none.

    Args:
        events: The log lines.
        session_id: Ignore lines that name another session.
    """
    starts = start_lines(events, session_id)
    return starts[0].time if starts else None


def choose_start(
    lines: Sequence[StartLine],
    *,
    sent: float,
    done: float | None,
    place: int | None = None,
    request_id: str | None = None,
) -> StartLine | None:
    """Return the start line of one of a session's invocations, None if it is missing (so far).

    It is chosen by request id if a line has one; else by order, as invocations of a session do not overlap; else by the
    nearest start. Its log time lies within `WINDOW_S` of the invocation.

    Args:
        lines: The session's start lines, by time.
        sent: When the request was sent, Unix seconds on the client's clock.
        done: When the answer was complete; None when unknown.
        place: The invocation's position in the session, from 0; None when unknown.
        request_id: The invocation's request id.
    """
    if request_id is not None:
        for line in lines:
            if line.event.request_id == request_id:
                return line
    latest = (sent if done is None else done) + WINDOW_S
    near = [line for line in lines if sent - WINDOW_S <= line.event.timestamp_ms / 1000 <= latest]
    if place is not None:
        ordered = lines[place] if place < len(lines) else None
        return ordered if ordered in near else None
    return min(near, key=lambda line: abs(line.time.timestamp() - sent), default=None)
