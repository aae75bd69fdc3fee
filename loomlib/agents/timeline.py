"""The clock of one invocation, and what is collected while its response arrives."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loomlib.aws.wire import WireBytes

EVENTS_MAX_BYTES: Final = 8_000_000
EVENTS_CUT: Final = '{"type":"LOOM_EVENTS_CUT"}'
"""Stands for the events beyond the limit; AG-UI has no such type, so a reader reports it."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time derived from a monotonic clock, anchored once per invocation.

    One pair of readings (`time.time_ns`, `time.perf_counter_ns`) is taken when the invocation starts; every later wall
    time is the anchor plus monotonic time. So durations are exact and times never run backwards, even when the system's
    clock is set meanwhile.

    Attributes:
        wall_ns: `time.time_ns` at the anchor.
        monotonic_ns: `time.perf_counter_ns` at the anchor.
    """

    wall_ns: int
    monotonic_ns: int

    @classmethod
    def now(cls) -> Clock:
        """Return a clock anchored now."""
        return cls(time.time_ns(), time.perf_counter_ns())

    def unix_s(self, monotonic_ns: int) -> float:
        """Return the Unix seconds of a `time.perf_counter_ns` reading."""
        return (self.wall_ns + monotonic_ns - self.monotonic_ns) / 1e9


@dataclass(slots=True)
class Timeline:
    """The data of an invocation so far; `…_ns` are `time.perf_counter_ns` readings.

    Attributes:
        clock: The clock.
        sent_ns: Just before the request was written; before that, when the invocation started.
        first_byte_ns: When the first byte arrived.
        done_ns: When the last byte arrived.
        texts: The text so far, in pieces.
        offsets_ms: When each chunk arrived.
        bytes_received: The size so far.
        wire: Bytes on the wire in both directions; None when they were not counted.
        connect_ms: How long connecting took.
        connection_reused: Whether an open connection was reused.
        headers: The response headers.
        failure: The first failure.
        error_message: Its message.
        events: The protocol events so far.
        event_bytes: Their size.
    """

    clock: Clock
    sent_ns: int
    first_byte_ns: int | None = None
    done_ns: int | None = None
    texts: list[str] = field(default_factory=list[str])
    offsets_ms: list[float] = field(default_factory=list[float])
    bytes_received: int = 0
    wire: WireBytes | None = None
    connect_ms: float | None = None
    connection_reused: bool | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    failure: str | None = None
    error_message: str | None = None
    events: list[str] = field(default_factory=list[str])
    event_bytes: int = 0

    @classmethod
    def begin(cls) -> Timeline:
        """Return a timeline whose clock is anchored now."""
        clock = Clock.now()
        return cls(clock, clock.monotonic_ns)

    @property
    def invoke_time(self) -> float:
        """When the request was sent, Unix seconds."""
        return self.clock.unix_s(self.sent_ns)

    @property
    def ttft_ms(self) -> float | None:
        """Milliseconds from sending to the first byte of the body; None without one."""
        return None if self.first_byte_ns is None else self.offset_ms(self.first_byte_ns)

    @property
    def response(self) -> str:
        """The text received so far."""
        if len(self.texts) > 1:
            self.texts[:] = ["".join(self.texts)]
        return self.texts[0] if self.texts else ""

    def store_event(self, data: bytes) -> None:
        """Store a protocol event; after `EVENTS_MAX_BYTES` in total, one marker replaces all further events."""
        if self.event_bytes <= EVENTS_MAX_BYTES:
            self.event_bytes += len(data)
            whole = self.event_bytes <= EVENTS_MAX_BYTES
            self.events.append(data.decode("utf-8", "replace") if whole else EVENTS_CUT)

    def carried(self, wire: WireBytes | None) -> None:
        """Add the bytes on the wire of one exchange of this invocation."""
        if wire is not None:
            self.wire = wire if self.wire is None else self.wire + wire

    def offset_ms(self, at_ns: int) -> float:
        """Return the milliseconds from sending to `at_ns`."""
        return (at_ns - self.sent_ns) / 1e6

    def fail(self, failure: str, message: str) -> None:
        """Record a failure; only the first one is stored.

        Args:
            failure: One of `FAILURES`.
            message: The error.
        """
        if self.failure is None:
            self.failure, self.error_message = failure, message
