"""Processes by their log streams: one stream is the whole life of one microVM, from its first line to its last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from loomlib.errors import ResourceNotFoundError

from .log_events import LogEvent, log_event
from .log_streams import LogStreams
from .sources import RuntimeSource
from .start_lines import start_lines

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_BOOT: Final = "Connection failed out to container health check"
"""AWS's sidecar writes it once a cold boot: its first probe, before the agent's server listens. The local AgentCore
writes it once for each process that it starts, and says so in the line."""

_ANSWERED: Final = ("Invocation completed", "Returning streaming response", "Invocation failed")
_FAILED: Final = "Invocation failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLife:
    """One process, as its own lines tell it.

    `invocations` counts the requests that its lines name. `boots` are its lines that tell of a cold boot.
    """

    process_id: str
    stream: str
    first_line: datetime
    last_line: datetime
    lines: int
    invocations: int
    failed: int
    session_ids: tuple[str, ...]
    boots: int

    @property
    def seconds(self) -> float:
        """From the first line to the last: a lower bound of how long it lived."""
        return (self.last_line - self.first_line).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """The processes of an endpoint in a time range, the newest first. `state` is "found", "empty" or "no_group"."""

    state: str
    lives: tuple[ProcessLife, ...] = ()

    @property
    def invocations(self) -> int:
        """Requests that the lines name."""
        return sum(life.invocations for life in self.lives)

    @property
    def sessions(self) -> int:
        """Sessions that the lines name."""
        return len({id for life in self.lives for id in life.session_ids})

    @property
    def reuse(self) -> float | None:
        """The share of invocations that met a process which had answered before; None without any."""
        served = [life for life in self.lives if life.invocations]
        return 1 - len(served) / self.invocations if self.invocations else None

    def sentence(self) -> str:
        """Sessions against invocations, in a sentence."""
        if self.state == "no_group":
            return "The endpoint has no log group: it never ran."
        if not self.invocations or self.reuse is None:
            return "No process wrote a line about an invocation in that time."
        boots = sum(life.boots for life in self.lives)
        told = f" Their logs tell of {_count(boots, 'cold boot')}." if boots else ""
        return (
            f"{_count(self.invocations, 'invocation')} in {_count(self.sessions, 'session')} on "
            f"{_count(len(self.lives), 'process', 'processes')}: {self.reuse:.0%} met a process that had answered "
            f"before.{told}"
        )


def process_lives(
    clients: Clients, source: RuntimeSource, qualifier: str, *, start: datetime, end: datetime | None = None
) -> Lives:
    """Every process of an endpoint that wrote a line between `start` and `end` (aware times)."""
    try:
        stored = LogStreams(clients).read(
            source,
            source.log_group(qualifier),
            start_ms=int(start.timestamp() * 1000),
            end_ms=None if end is None else int(end.timestamp() * 1000),
        )
    except ResourceNotFoundError:
        return Lives(state="no_group")
    lives = lives_of(map(log_event, stored))
    return Lives(state="found" if lives else "empty", lives=tuple(lives))


def lives_of(events: Iterable[LogEvent]) -> list[ProcessLife]:
    """The processes behind these lines, the one that began last first."""
    streams: dict[str, list[LogEvent]] = {}
    for event in events:
        streams.setdefault(event.stream, []).append(event)
    lives = [_life(stream, sorted(lines, key=lambda each: each.timestamp_ms)) for stream, lines in streams.items()]
    return sorted(lives, key=lambda life: (life.first_line, life.stream), reverse=True)


def _life(stream: str, lines: Sequence[LogEvent]) -> ProcessLife:
    requests = {line.request_id for line in lines if line.request_id}
    unnamed = sum(line.request_id is None and line.message.startswith(_ANSWERED) for line in lines)
    return ProcessLife(
        process_id=stream.rpartition("]")[2] or stream,
        stream=stream,
        first_line=lines[0].timestamp,
        last_line=lines[-1].timestamp,
        lines=len(lines),
        invocations=len(requests) + unnamed or len(start_lines(lines)),
        failed=sum(line.message.startswith(_FAILED) for line in lines),
        session_ids=tuple(dict.fromkeys(line.session_id for line in lines if line.session_id)),
        boots=sum(_BOOT in line.message for line in lines),
    )


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
