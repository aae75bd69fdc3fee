"""The turns of the agent's loop: what each took, and how the prompt grew from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .calls import ModelCall, Parallelism, ToolCall, loops, model_calls, parallelism, tool_calls
from .trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One turn of an agent's loop. Numbers count from 1 within `agent_span_id` ("" where no agent is above it).

    `input_tokens` is what the last successful model call read, `growth_tokens` how many more than in the cycle before.
    `is_inferred`: no span of the cycle is there, the model call stands for it. `tools` says how parallel they ran.
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
        """Growth over the cycle before: 0.1 is a tenth more."""
        if self.growth_tokens is None or self.input_tokens is None:
            return None
        before = self.input_tokens - self.growth_tokens
        return self.growth_tokens / before if before > 0 else None


def cycles(trace: Trace) -> tuple[Cycle, ...]:
    """Every cycle, by agent and number; model calls outside of any stand for cycles of their own."""
    where = loops(trace)
    by_cycle: dict[str, tuple[list[ModelCall], list[ToolCall]]] = {
        span.span_id: ([], []) for span in trace.of_operation("cycle")
    }
    loose: list[ModelCall] = []
    for call in model_calls(trace):
        if (owner := where.cycles.get(call.span_id)) is not None:
            by_cycle[owner][0].append(call)
        else:
            loose.append(call)
    for call in tool_calls(trace):
        if (owner := where.cycles.get(call.span_id)) is not None:
            by_cycle[owner][1].append(call)
    found: list[Cycle] = []
    before: dict[str, int | None] = {}
    for span in trace.of_operation("cycle"):
        asked, ran = by_cycle[span.span_id]
        time = (span.start_ns, span.duration_ns)
        number, agent = where.numbers[span.span_id], where.agents[span.span_id]
        found.append(_cycle(number, agent, span.span_id, time, asked, ran, before))
    if not found:
        for number, call in enumerate((call for call in loose if not call.is_failed), 1):
            found.append(_cycle(number, "", call.span_id, (call.start_ns, call.duration_ns), [call], [], before, True))
    return tuple(sorted(found, key=lambda each: (each.agent_span_id, each.number)))


def _cycle(
    number: int,
    agent: str,
    span_id: str,
    time: tuple[int, int],
    asked: Sequence[ModelCall],
    ran: Sequence[ToolCall],
    before: dict[str, int | None],
    is_inferred: bool = False,
) -> Cycle:
    answered = [call for call in asked if not call.is_failed]
    read = answered[-1].input_tokens if answered else None
    last = before.get(agent)
    before[agent] = read if read is not None else last
    return Cycle(
        number=number,
        agent_span_id=agent,
        span_id=span_id,
        start_ns=time[0],
        duration_ns=time[1],
        model_ns=sum(call.duration_ns for call in asked),
        input_tokens=read,
        output_tokens=answered[-1].output_tokens if answered else None,
        growth_tokens=None if read is None or last is None else read - last,
        tools=parallelism(ran),
        is_inferred=is_inferred,
    )
