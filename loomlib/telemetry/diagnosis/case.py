"""The input of diagnosis rules: one invocation with its trace, breakdown and client timing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from loomlib.store import InvocationRow

from ..traces import (
    Breakdown,
    ClientTiming,
    Cycle,
    ModelCall,
    Part,
    Retry,
    Span,
    Step,
    ToolCall,
    Trace,
    breakdown,
    cycles,
    model_calls,
    retries,
    tool_calls,
    trajectory,
)
from .prompt_reading import Prefill, measure_prompt_reading
from .result_lengths import result_lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSide:
    """The client's measurements.

    Attributes:
        timing: The client interval.
        chunk_offsets_ms: When each chunk arrived, in milliseconds after sending.
        connect_ms: How long connecting took; None when unknown.
        connection_reused: Whether an open connection was reused; None when unknown.
        bytes_received: The size of the answer in bytes.
    """

    timing: ClientTiming
    chunk_offsets_ms: tuple[float, ...] = field(default=(), repr=False)
    connect_ms: float | None = None
    connection_reused: bool | None = None
    bytes_received: int | None = None


def client_side(record: InvocationRow, *, is_cold: bool | None = None, same_clock: bool = False) -> ClientSide | None:
    """Return the client's measurements of a stored invocation; None when there was no response.

    Args:
        record: The stored invocation.
        is_cold: Whether a new process was started for it; None when unknown.
        same_clock: Whether the agent runs on this machine.
    """
    if record.client_invoke_time is None or record.client_duration_ms is None:
        return None
    sent_ns = _nanoseconds(record.client_invoke_time)
    start = record.agent_start_time
    return ClientSide(
        timing=ClientTiming(
            sent_ns=sent_ns,
            done_ns=sent_ns + round(max(0.0, record.client_duration_ms) * 1e6),
            first_byte_ns=None if record.ttft_ms is None else sent_ns + round(record.ttft_ms * 1e6),
            agent_start_ns=None if start is None else _nanoseconds(start),
            is_cold=is_cold,
            same_clock=same_clock,
        ),
        chunk_offsets_ms=record.chunk_offsets_ms,
        connect_ms=record.connect_ms,
        connection_reused=record.connection_reused,
        bytes_received=record.bytes_received,
    )


def _nanoseconds(seconds: float) -> int:
    whole = int(seconds)
    return whole * 1_000_000_000 + round((seconds - whole) * 1e9)


@dataclass(frozen=True, kw_only=True)
class InvocationCase:
    """One invocation as rules see it; created by `InvocationCase.of`. Other values are computed when first used.

    Attributes:
        trace: The trace.
        breakdown: Where the time went.
        client: The client's measurements; None when unknown.
    """

    trace: Trace
    breakdown: Breakdown
    client: ClientSide | None = None

    @classmethod
    def of(cls, trace: Trace, client: ClientSide | ClientTiming | None = None) -> InvocationCase:
        """Return the case of a trace.

        Args:
            trace: The trace.
            client: The client's measurements; None when unknown.
        """
        side = ClientSide(timing=client) if isinstance(client, ClientTiming) else client
        return cls(trace=trace, breakdown=breakdown(trace, None if side is None else side.timing), client=side)

    @property
    def total_ms(self) -> float:
        """The total of the breakdown, in milliseconds."""
        return self.breakdown.total_ms

    def part(self, name: str) -> Part:
        """Return one part of the breakdown."""
        return self.breakdown[name]

    def share(self, ms: float) -> float:
        """Return `ms` as a share of the total."""
        return ms / self.total_ms if self.total_ms else 0.0

    @cached_property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every attempt of a model call."""
        return model_calls(self.trace)

    @cached_property
    def answered_calls(self) -> tuple[ModelCall, ...]:
        """The model calls that did not fail."""
        return tuple(call for call in self.calls if not call.is_failed)

    @cached_property
    def tools(self) -> tuple[ToolCall, ...]:
        """Every run of a tool."""
        return tool_calls(self.trace)

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The cycles of every agent's loop."""
        return cycles(self.trace)

    @cached_property
    def retries(self) -> tuple[Retry, ...]:
        """Model calls that failed and were retried."""
        return retries(self.calls)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the agent and of the agents that it called."""
        steps: list[Step] = []
        pending = [trajectory(self.trace)]
        while pending:
            agent_trajectory = pending.pop()
            steps.extend(agent_trajectory.steps)
            pending.extend(agent_trajectory.agents)
        return tuple(steps)

    @cached_property
    def result_lengths(self) -> dict[str, int]:
        """The length of each tool result in characters, by call id (`span <id>` where a call has none)."""
        return result_lengths(self.trace, self.steps)

    @cached_property
    def by_agent(self) -> tuple[tuple[ModelCall, ...], ...]:
        """The answered model calls of each agent, by start: only calls of one agent read the same conversation."""
        groups: dict[str, list[ModelCall]] = {}
        for call in self.answered_calls:
            groups.setdefault(self.agent_above(call.span_id), []).append(call)
        return tuple(tuple(group) for group in groups.values())

    @cached_property
    def readings(self) -> dict[str, Prefill]:
        """How long each model call took to read its prompt, by span id, as far as known."""
        return {call.span_id: reading for group in self.by_agent for call, reading in measure_prompt_reading(group)}

    def agent_above(self, span_id: str) -> str:
        """Return the id of the nearest agent span above a span, "" when there is none."""
        above = self.trace.ancestors(span_id)
        return next((span.span_id for span in above if self.trace.operation(span) == "invoke_agent"), "")

    def within(self, span: Span, operation: str) -> bool:
        """Return whether a span lies below one with that operation."""
        return any(self.trace.operation(above) == operation for above in self.trace.ancestors(span))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What reduces the confidence in every number of this trace."""
        return tuple(_CAVEATS[mark] for mark in sorted(self.breakdown.marks) if mark in _CAVEATS)


_CAVEATS = {
    "partial": "some spans of this trace are missing or unfinished",
    "clock_skewed": "clocks disagree in this trace",
    "negative_duration": "some spans end before they start",
    "conflicting_duplicates": "some spans arrived twice with different times",
}


def limits_of(cases: Iterable[InvocationCase]) -> tuple[str, ...]:
    """Return what rules could not diagnose in these cases, each limitation once with the number of cases."""
    counts: dict[str, int] = {}
    all_cases: Sequence[InvocationCase] = list(cases)
    for case in all_cases:
        for limit in _limits(case):
            counts[limit] = counts.get(limit, 0) + 1
    several = len(all_cases) > 1
    return tuple(
        f"{limit} ({count} of {len(all_cases)} invocations)" if several else limit for limit, count in counts.items()
    )


def _limits(case: InvocationCase) -> Iterable[str]:
    if not case.trace.spans:
        yield "no spans: nothing inside the agent can be diagnosed"
    if case.client is None:
        yield "no client timing: network, cold start and the client itself cannot be diagnosed"
    elif case.client.timing.is_cold is None:
        yield "unknown whether a new process was started: a cold start would look like network time"
    if case.trace.spans and not case.calls:
        yield "no model call in the trace: cycles, tokens and retries cannot be diagnosed"
    if case.calls and all(call.input_tokens is None for call in case.answered_calls):
        yield "no token counts: token growth and large prompts cannot be diagnosed"
    if case.calls and all(call.ttft_ms is None for call in case.answered_calls):
        yield "no time to first token: a slow first token cannot be diagnosed"
    if case.tools and not case.result_lengths:
        yield "no tool results in the trace: oversized results cannot be diagnosed"
