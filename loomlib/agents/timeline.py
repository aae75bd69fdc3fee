"""The clock of one invocation, and all that is gathered while its answer comes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

EVENTS_MAX_BYTES: Final = 8_000_000
EVENTS_CUT: Final = '{"type":"LOOM_EVENTS_CUT"}'
"""Stands for the events that are too many to be kept; AG-UI knows no such type, so that a reader names it."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time by way of a monotonic clock, anchored once an invocation.

    One pair of readings (`time.time_ns`, `time.perf_counter_ns`) is taken when the invocation begins; every later wall
    time is the anchor plus monotonic time, so durations are true and the times of one invocation cannot run backwards,
    even when the system's clock is set meanwhile.
    """

    wall_ns: int
    monotonic_ns: int

    @classmethod
    def now(cls) -> Clock:
        """A clock anchored at this moment."""
        return cls(time.time_ns(), time.perf_counter_ns())

    def unix_s(self, monotonic_ns: int) -> float:
        """The Unix time in seconds of a `time.perf_counter_ns` reading."""
        return (self.wall_ns + monotonic_ns - self.monotonic_ns) / 1e9


@dataclass(slots=True)
class Timeline:
    """What is known of an invocation so far; `…_ns` are `time.perf_counter_ns` readings.

    `sent_ns` is the moment before the request was written; before that, the moment at which work on it began.
    """

    clock: Clock
    sent_ns: int
    first_byte_ns: int | None = None
    done_ns: int | None = None
    texts: list[str] = field(default_factory=list[str])
    offsets_ms: list[float] = field(default_factory=list[float])
    bytes_received: int = 0
    connect_ms: float | None = None
    connection_reused: bool | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    failure: str | None = None
    error_message: str | None = None
    events: list[str] = field(default_factory=list[str])
    event_bytes: int = 0

    @classmethod
    def begin(cls) -> Timeline:
        """A timeline whose clock is anchored now."""
        clock = Clock.now()
        return cls(clock, clock.monotonic_ns)

    @property
    def invoke_time(self) -> float:
        """Unix time (s) at which the request was sent."""
        return self.clock.unix_s(self.sent_ns)

    @property
    def ttft_ms(self) -> float | None:
        """From sending to the first byte of the body, None when none came."""
        return None if self.first_byte_ns is None else self.offset_ms(self.first_byte_ns)

    @property
    def response(self) -> str:
        """The text so far."""
        if len(self.texts) > 1:
            self.texts[:] = ["".join(self.texts)]
        return self.texts[0] if self.texts else ""

    def keep(self, data: bytes) -> None:
        """Keep an event of a protocol, up to `EVENTS_MAX_BYTES` in all; where that is passed, an event says so."""
        if self.event_bytes <= EVENTS_MAX_BYTES:
            self.event_bytes += len(data)
            whole = self.event_bytes <= EVENTS_MAX_BYTES
            self.events.append(data.decode("utf-8", "replace") if whole else EVENTS_CUT)

    def offset_ms(self, at_ns: int) -> float:
        """Milliseconds from sending to `at_ns`."""
        return (at_ns - self.sent_ns) / 1e6

    def fail(self, failure: str, message: str) -> None:
        """Note a failure; the first one stands."""
        if self.failure is None:
            self.failure, self.error_message = failure, message
