"""What the rules look at: one invocation with its trace, its breakdown and what the client saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

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
from .prompt_reading import PromptReading, measure_reading
from .result_lengths import result_lengths


class InvocationTimes(Protocol):
    """What is asked of an invocation's record to know the client's side of it; `InvocationRecord` has it all."""

    @property
    def client_invoke_time(self) -> float | None: ...
    @property
    def client_duration_ms(self) -> float | None: ...
    @property
    def ttft_ms(self) -> float | None: ...
    @property
    def connect_ms(self) -> float | None: ...
    @property
    def connection_reused(self) -> bool | None: ...
    @property
    def chunk_offsets_ms(self) -> tuple[float, ...]: ...
    @property
    def bytes_received(self) -> int: ...
    @property
    def agent_start_time(self) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSide:
    """What the client saw: the interval, when each chunk came (milliseconds after sending), and the connection."""

    timing: ClientTiming
    chunk_offsets_ms: tuple[float, ...] = field(default=(), repr=False)
    connect_ms: float | None = None
    connection_reused: bool | None = None
    bytes_received: int | None = None


def client_side(record: InvocationTimes, *, is_cold: bool | None = None, same_clock: bool = False) -> ClientSide | None:
    """The client's side of a stored invocation; None when it was never answered.

    `is_cold`: whether the session's process began for this call. `same_clock`: the agent runs on this machine.
    """
    if record.client_invoke_time is None or record.client_duration_ms is None:
        return None
    sent = _nanoseconds(record.client_invoke_time)
    start = record.agent_start_time
    return ClientSide(
        timing=ClientTiming(
            sent_ns=sent,
            done_ns=sent + round(max(0.0, record.client_duration_ms) * 1e6),
            first_byte_ns=None if record.ttft_ms is None else sent + round(record.ttft_ms * 1e6),
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
class Case:
    """One invocation as the rules see it. Made by `Case.of`; the rest is worked out when a rule first asks for it.

    Without slots, because its facts are kept once they are worked out.
    """

    trace: Trace
    breakdown: Breakdown
    client: ClientSide | None = None

    @classmethod
    def of(cls, trace: Trace, client: ClientSide | ClientTiming | None = None) -> Case:
        """The case of a trace, with what the client saw if that is known."""
        side = ClientSide(timing=client) if isinstance(client, ClientTiming) else client
        return cls(trace=trace, breakdown=breakdown(trace, None if side is None else side.timing), client=side)

    @property
    def total_ms(self) -> float:
        """The whole, as the breakdown has it."""
        return self.breakdown.total_ms

    def part(self, name: str) -> Part:
        """One part of the breakdown."""
        return self.breakdown[name]

    def share(self, ms: float) -> float:
        """`ms` as a share of the whole."""
        return ms / self.total_ms if self.total_ms else 0.0

    @cached_property
    def calls(self) -> tuple[ModelCall, ...]:
        """Every attempt to have a model answer."""
        return model_calls(self.trace)

    @cached_property
    def answered(self) -> tuple[ModelCall, ...]:
        """The model calls that did not fail."""
        return tuple(call for call in self.calls if not call.is_failed)

    @cached_property
    def tools(self) -> tuple[ToolCall, ...]:
        """Every run of a tool."""
        return tool_calls(self.trace)

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The turns of every agent's loop."""
        return cycles(self.trace)

    @cached_property
    def retries(self) -> tuple[Retry, ...]:
        """Model calls that failed and were tried again."""
        return retries(self.calls)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What was said and done, of agents within agents too."""
        found: list[Step] = []
        waiting = [trajectory(self.trace)]
        while waiting:
            each = waiting.pop()
            found.extend(each.steps)
            waiting.extend(each.agents)
        return tuple(found)

    @cached_property
    def result_lengths(self) -> dict[str, int]:
        """The characters of each tool's result, by call id (`span …` where a call has none)."""
        return result_lengths(self.trace, self.steps)

    @cached_property
    def by_agent(self) -> tuple[tuple[ModelCall, ...], ...]:
        """The answered model calls of each agent, by start: only calls of one agent read the same conversation."""
        groups: dict[str, list[ModelCall]] = {}
        for call in self.answered:
            groups.setdefault(self.agent_above(call.span_id), []).append(call)
        return tuple(tuple(group) for group in groups.values())

    @cached_property
    def readings(self) -> dict[str, PromptReading]:
        """How long each model call took to read its prompt, by span id, as far as that can be told."""
        return {call.span_id: reading for group in self.by_agent for call, reading in measure_reading(group)}

    def agent_above(self, span_id: str) -> str:
        """The id of the agent's span above a span ("" when there is none)."""
        above = self.trace.ancestors(span_id)
        return next((span.span_id for span in above if self.trace.operation(span) == "invoke_agent"), "")

    def within(self, span: Span, operation: str) -> bool:
        """Whether a span lies below one of that operation."""
        return any(self.trace.operation(above) == operation for above in self.trace.ancestors(span))

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes every number of this trace less sure."""
        return tuple(_DOUBTS[mark] for mark in sorted(self.breakdown.marks) if mark in _DOUBTS)


_DOUBTS = {
    "partial": "some spans of this trace are missing or unfinished",
    "clock_skewed": "clocks disagree in this trace",
    "negative_duration": "some spans end before they begin",
    "conflicting_duplicates": "some spans arrived twice with different times",
}


def limits_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """What the rules could not judge in these cases, each once with the number of cases."""
    counts: dict[str, int] = {}
    known: Sequence[Case] = list(cases)
    for case in known:
        for limit in _limits(case):
            counts[limit] = counts.get(limit, 0) + 1
    several = len(known) > 1
    return tuple(
        f"{limit} ({count} of {len(known)} invocations)" if several else limit for limit, count in counts.items()
    )


def _limits(case: Case) -> Iterable[str]:
    if not case.trace.spans:
        yield "no spans: nothing inside the agent can be judged"
    if case.client is None:
        yield "no client's timing: network, cold start and the client itself cannot be judged"
    elif case.client.timing.is_cold is None:
        yield "not known whether the process began for this call: a cold start would look like network"
    if case.trace.spans and not case.calls:
        yield "no model call in the trace: cycles, tokens and retries cannot be judged"
    if case.calls and all(call.input_tokens is None for call in case.answered):
        yield "no token counts: token growth and large prompts cannot be judged"
    if case.calls and all(call.ttft_ms is None for call in case.answered):
        yield "no time to first token: a slow first token cannot be judged"
    if case.tools and not case.result_lengths:
        yield "no tool results in the trace: oversized results cannot be judged"
