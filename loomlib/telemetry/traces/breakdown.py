"""Where the time of one invocation went: parts that add up to the whole, each with what it was derived from.

The whole is the client's interval, from the request's sending to the end of the answer; without a client it is the
interval of the root spans. Every nanosecond of it goes to exactly one part. Where spans overlap, the first of these
that covers the moment gets it:

    model            `chat` spans
    tools            `execute_tool` spans (what a tool waits for, even memory, is the tool's time, except a model call)
    memory           calls to AgentCore Memory and Strands' `memory.*` spans
    agent            everything else inside the agent: its server span, `invoke_agent`, cycles, other spans
    cold_start       from sending to the agent's start, when the session's process began for this call
    service_network  the rest outside the agent: network, service, sidecar
    unknown          moments about which nothing is known

So these are shares of elapsed time by the union of intervals: two tools at once count once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .evidence import Evidence, weigh
from .extent import extent_of
from .intervals import Interval, carve, total, union
from .trace import Trace

PARTS = ("cold_start", "service_network", "agent", "model", "tools", "memory", "unknown")
PRIORITY = ("model", "tools", "memory", "agent", "cold_start", "service_network", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTiming:
    """What the client knows of one invocation, in Unix nanoseconds.

    `agent_start_ns` is when the agent's code began by its own log line. `is_cold`: whether the session's process began
    for this call (None: not known). `same_clock`: client and agent read the same clock (the local service), so spans
    outside the interval are really outside.
    """

    sent_ns: int
    done_ns: int
    first_byte_ns: int | None = None
    agent_start_ns: int | None = None
    is_cold: bool | None = None
    same_clock: bool = False

    def __post_init__(self) -> None:
        if self.done_ns < self.sent_ns:
            raise ValueError(f"an answer cannot end before its request: {self.sent_ns} > {self.done_ns}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the whole.

    `certainty`: `measured` (from spans or the client's clock), `inferred` (something that would show it is missing,
    `doubt` says what), or `missing` (nothing could be said). `span_ids` are the spans it came from.
    """

    name: str
    duration_ns: int
    share: float
    derived_from: str
    certainty: str
    doubt: str = ""
    span_ids: tuple[str, ...] = field(default=(), repr=False)
    intervals: tuple[Interval, ...] = field(default=(), repr=False)

    @property
    def duration_ms(self) -> float:
        """In milliseconds."""
        return self.duration_ns / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """All parts, in the order of `PARTS`; their durations add up to `total_ns` exactly.

    `shift_ns` was added to the spans' times to bring the agent's clock to the client's. `whole` says what the whole
    is, `marks` repeats what is odd about the trace (and `clock_shifted`, `clipped`).
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
        """The whole."""
        return self.end_ns - self.start_ns

    @property
    def total_ms(self) -> float:
        """The whole in milliseconds."""
        return self.total_ns / 1e6

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def shares(self) -> dict[str, float]:
        """Each part's share of the whole, between 0 and 1 (all 0 when the whole is empty)."""
        return {part.name: part.share for part in self.parts}

    def table(self) -> list[dict[str, Any]]:
        """One row a part, ready for a DataFrame."""
        return [
            {
                "part": part.name,
                "ms": part.duration_ms,
                "share": part.share,
                "certainty": part.certainty,
                "derived_from": part.derived_from,
                "doubt": part.doubt,
                "spans": len(part.span_ids),
            }
            for part in self.parts
        ]

    def timeline(self) -> tuple[tuple[str, int, int], ...]:
        """Part, start and end of every stretch, in order and without gaps."""
        pieces = [(start, end, part.name) for part in self.parts for start, end in part.intervals]
        return tuple((name, start, end) for start, end, name in sorted(pieces))


def breakdown(trace: Trace, client: ClientTiming | None = None) -> Breakdown:
    """The parts of one invocation. Never fails on an odd trace; what cannot be known is `unknown` and says why.

    invocation.trace().breakdown()["model"].share
    """
    extent = extent_of(trace, client)
    found = weigh(trace, extent, client)
    whole = extent.end_ns - extent.start_ns
    free: list[Interval] = [(extent.start_ns, extent.end_ns)] if whole else []
    got: dict[str, list[Interval]] = {}
    for name in PRIORITY[:-1]:
        intervals = found[name].intervals
        got[name], free = carve(free, union(intervals)) if intervals else ([], free)
    got["unknown"] = free
    parts = tuple(_part(name, got[name], found[name], whole) for name in PARTS)
    return Breakdown(
        start_ns=extent.start_ns,
        end_ns=extent.end_ns,
        parts=parts,
        whole=extent.whole,
        shift_ns=extent.shift_ns,
        marks=trace.marks | extent.marks,
        trace_id=trace.trace_id,
    )


def _part(name: str, intervals: list[Interval], evidence: Evidence, whole: int) -> Part:
    if not intervals and not evidence.span_ids:
        return _nothing(name, evidence.derived_from, evidence.certainty, evidence.doubt)
    duration = total(intervals)
    return Part(
        name=name,
        duration_ns=duration,
        share=duration / whole if whole else 0.0,
        derived_from=evidence.derived_from,
        certainty=evidence.certainty,
        doubt=evidence.doubt,
        span_ids=evidence.span_ids,
        intervals=tuple(intervals),
    )


@lru_cache(256)
def _nothing(name: str, derived_from: str, certainty: str, doubt: str) -> Part:
    return Part(name=name, duration_ns=0, share=0.0, derived_from=derived_from, certainty=certainty, doubt=doubt)
