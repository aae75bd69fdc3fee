"""The breakdown of one invocation's time into parts that add up to the whole, each with its origin.

The whole is the client interval, from sending the request to the end of the response; without client timing it is the
interval of the root spans. Every nanosecond of it belongs to exactly one part. Where spans overlap, the first of these
parts that covers a moment gets it:

    garbage_collection  pauses of the agent's process for a full collection, which the local AgentCore records as events
                     of its server span; all threads are stopped meanwhile
    model            `chat` spans
    tools            `execute_tool` spans, including the memory calls a tool waits for, but not its model calls
    memory           calls to AgentCore Memory and Strands' `memory.*` spans
    agent            everything else inside the agent: its server span, `invoke_agent`, cycles, other spans
    cold_start       from sending to the agent's start, when a new process was started for this invocation
    service_network  the rest outside the agent: network, service, sidecar
    unknown          time that nothing accounts for

The parts are shares of elapsed time by the union of intervals: two tools running at once count once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from loomlib.deprecation import renamed_members

from .intervals import Interval

PARTS = ("cold_start", "service_network", "agent", "model", "tools", "memory", "garbage_collection", "unknown")
"""The parts in the order in which an invocation passes through them."""

PRIORITY = ("garbage_collection", "model", "tools", "memory", "agent", "cold_start", "service_network", "unknown")
"""The parts in the order in which they claim overlapping time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTiming:
    """The client's measurements of one invocation, in Unix nanoseconds.

    Attributes:
        sent_ns: When the request was sent.
        done_ns: When the last byte of the response had arrived.
        first_byte_ns: When the first byte of the response arrived.
        agent_start_ns: When the agent's code started, by its own log line.
        is_cold: Whether a new process was started for this invocation; None when unknown.
        same_clock: Whether client and agent read the same clock (the local service), so that spans outside the client
            interval really are outside.
    """

    sent_ns: int
    done_ns: int
    first_byte_ns: int | None = None
    agent_start_ns: int | None = None
    is_cold: bool | None = None
    same_clock: bool = False

    def __post_init__(self) -> None:
        if self.done_ns < self.sent_ns:
            raise ValueError(f"the response ends before its request was sent: {self.sent_ns} > {self.done_ns}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a breakdown.

    Attributes:
        name: One of `PARTS`.
        duration_ns: Its time in nanoseconds.
        share: Its share of the whole, between 0 and 1.
        derived_from: What the time was computed from.
        certainty: `measured` (from spans or the client's clock), `inferred` (direct evidence is missing),
            or `missing` (nothing is known).
        caveat: Why it is not measured; "" when it is.
        span_ids: The spans it was computed from.
        intervals: Its intervals in Unix nanoseconds, disjoint and in order.
    """

    name: str
    duration_ns: int
    share: float
    derived_from: str
    certainty: str
    caveat: str = ""
    span_ids: tuple[str, ...] = field(default=(), repr=False)
    intervals: tuple[Interval, ...] = field(default=(), repr=False)

    @property
    def duration_ms(self) -> float:
        """Its time in milliseconds."""
        return self.duration_ns / 1e6

    def __getattr__(self, name: str) -> Any:
        return renamed_members(self, {"doubt": "caveat"}, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """All parts of one invocation, in the order of `PARTS`; their durations add up to `total_ns` exactly.

    Attributes:
        start_ns: Start of the whole, Unix nanoseconds on the client's clock.
        end_ns: End of the whole.
        parts: One `Part` for each of `PARTS`.
        whole: What the whole is, in words.
        shift_ns: What was added to span times to bring the agent's clock to the client's.
        marks: The marks of the trace (see `MARKS`), and `clock_shifted` or `clipped` where spans were moved or cut.
        trace_id: The trace it was computed from.
    """

    start_ns: int
    end_ns: int
    parts: tuple[Part, ...]
    whole: str
    shift_ns: int = 0
    marks: frozenset[str] = frozenset()
    trace_id: str = ""

    @property
    def total_ns(self) -> int:
        """The total in nanoseconds."""
        return self.end_ns - self.start_ns

    @property
    def total_ms(self) -> float:
        """The total in milliseconds."""
        return self.total_ns / 1e6

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def shares(self) -> dict[str, float]:
        """Return each part's share of the total, between 0 and 1 (all 0 when the total is 0)."""
        return {part.name: part.share for part in self.parts}

    def table(self) -> list[dict[str, Any]]:
        """Return one row per part, ready for a DataFrame."""
        return [
            {
                "part": part.name,
                "ms": part.duration_ms,
                "share": part.share,
                "certainty": part.certainty,
                "derived_from": part.derived_from,
                "caveat": part.caveat,
                "spans": len(part.span_ids),
            }
            for part in self.parts
        ]

    def timeline(self) -> tuple[tuple[str, int, int], ...]:
        """Return each (part, start, end) in Unix nanoseconds, in order and without gaps."""
        stretches = [(start, end, part.name) for part in self.parts for start, end in part.intervals]
        return tuple((name, start, end) for start, end, name in sorted(stretches))
