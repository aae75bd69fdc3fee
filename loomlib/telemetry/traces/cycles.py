"""The cycles of an agent's loop: their durations, and the growth of the prompt between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .calls import ModelCall, Parallelism, ToolCall, agent_loops, model_calls, parallelism, tool_calls
from .trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle of an agent's loop.

    Attributes:
        number: Its number, counted from 1 within its agent.
        agent_span_id: The agent's span, "" where there is no agent above it.
        span_id: The cycle's span, or its model call's when inferred.
        start_ns: Start in Unix nanoseconds.
        duration_ns: Duration in nanoseconds.
        model_ns: Time in model calls.
        input_tokens: Input tokens of the last successful model call.
        output_tokens: Output tokens of that call.
        growth_tokens: How many more input tokens than in the cycle before.
        tools: How far its tools ran at the same time.
        is_inferred: Whether the cycle has no span of its own and its model call stands for it.
    """

    number: int
    agent_span_id: str
    span_id: str
    start_ns: int
    duration_ns: int
    model_ns: int
    input_tokens: int | None
    output_tokens: int | None
    growth_tokens: int | None
    tools: Parallelism
    is_inferred: bool

    @property
    def growth_share(self) -> float | None:
        """Growth relative to the previous cycle: 0.1 is 10 % more."""
        if self.growth_tokens is None or self.input_tokens is None:
            return None
        before = self.input_tokens - self.growth_tokens
        return self.growth_tokens / before if before > 0 else None


def cycles(trace: Trace) -> tuple[Cycle, ...]:
    """Return every cycle, by agent and number; model calls outside of any cycle count as cycles of their own."""
    loops = agent_loops(trace)
    by_cycle: dict[str, tuple[list[ModelCall], list[ToolCall]]] = {
        span.span_id: ([], []) for span in trace.of_operation("cycle")
    }
    outside: list[ModelCall] = []
    for call in model_calls(trace):
        if (cycle_id := loops.cycles.get(call.span_id)) is not None:
            by_cycle[cycle_id][0].append(call)
        else:
            outside.append(call)
    for call in tool_calls(trace):
        if (cycle_id := loops.cycles.get(call.span_id)) is not None:
            by_cycle[cycle_id][1].append(call)
    result: list[Cycle] = []
    last_read: dict[str, int | None] = {}
    for span in trace.of_operation("cycle"):
        model, tools = by_cycle[span.span_id]
        times = (span.start_ns, span.duration_ns)
        number, agent = loops.numbers[span.span_id], loops.agents[span.span_id]
        result.append(_cycle(number, agent, span.span_id, times, model, tools, last_read))
    if not result:
        for number, call in enumerate((call for call in outside if not call.is_failed), 1):
            result.append(
                _cycle(number, "", call.span_id, (call.start_ns, call.duration_ns), [call], [], last_read, True)
            )
    return tuple(sorted(result, key=lambda cycle: (cycle.agent_span_id, cycle.number)))


def _cycle(
    number: int,
    agent: str,
    span_id: str,
    times: tuple[int, int],
    model: Sequence[ModelCall],
    tools: Sequence[ToolCall],
    last_read: dict[str, int | None],
    is_inferred: bool = False,
) -> Cycle:
    answered_calls = [call for call in model if not call.is_failed]
    input_tokens = answered_calls[-1].input_tokens if answered_calls else None
    previous = last_read.get(agent)
    last_read[agent] = input_tokens if input_tokens is not None else previous
    return Cycle(
        number=number,
        agent_span_id=agent,
        span_id=span_id,
        start_ns=times[0],
        duration_ns=times[1],
        model_ns=sum(call.duration_ns for call in model),
        input_tokens=input_tokens,
        output_tokens=answered_calls[-1].output_tokens if answered_calls else None,
        growth_tokens=None if input_tokens is None or previous is None else input_tokens - previous,
        tools=parallelism(tools),
        is_inferred=is_inferred,
    )
