"""The line by which an agent says when it began: `Agent invoked - Start time: {ISO}`."""

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
"""How far an agent's clock may be off before a line is no longer thought to belong to a call (seconds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLine:
    """One start: `time` by the agent's clock (UTC), and the log line that says so."""

    time: datetime
    event: LogEvent


def parse_start(text: str) -> datetime | None:
    """The start time told in `text`, None when there is none. A time without a zone is UTC."""
    found = _LINE.search(text)
    if found is None:
        return None
    try:
        told = datetime.fromisoformat(found["time"].replace(" ", "T", 1).replace(" ", "").replace(",", "."))
        return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def start_lines(events: Iterable[LogEvent], session_id: str | None = None) -> list[StartLine]:
    """All starts in `events`, in their order; lines that name another session are left out."""
    found: list[StartLine] = []
    for event in events:
        if session_id is not None and event.session_id not in (None, session_id):
            continue
        time = parse_start(event.message) or parse_start(event.raw)
        if time is not None:
            found.append(StartLine(time=time, event=event))
    return found


def parse_start_time(events: Iterable[LogEvent], session_id: str | None = None) -> datetime | None:
    """The first start told in `events`."""
    found = start_lines(events, session_id)
    return found[0].time if found else None


def choose_start(
    lines: Sequence[StartLine],
    *,
    sent: float,
    done: float | None,
    place: int | None = None,
    request_id: str | None = None,
) -> StartLine | None:
    """The line that belongs to one call of a session, None when it is not there (yet).

    `sent` and `done` are Unix seconds by the client's clock. By request id where a line has it; else by order, when it
    is known which of the session's calls this was (`place`, from 0), for calls of a session do not overlap; else the
    line whose start is nearest to the call. Its log time lies within `WINDOW_S` of the call (the agent's clock may be
    off).
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
