"""Model calls (first token, streaming, tokens, retries) and tool calls (durations, parallelism) of a trace."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from loomlib.json_values import as_list, count_or_none, number_or_none, to_text

from .intervals import most_at_once, total, union
from .messages import messages_of
from .span import LogRecord, Span
from .trace import Trace

_MOST_TOKENS: Final = 10**9
"""Tokens of one kind; a span that states more is wrong: an agent uses fewer in the hours of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One attempt of a model call. Values that the span does not state are None, as are impossible counts of tokens.

    Attributes:
        span_id: The call's span.
        model: The model id.
        cycle: Its cycle, counted from 1 within its agent; None outside a cycle.
        attempt: Its attempt, counted from 1 within the cycle.
        start_ns: Start in Unix nanoseconds.
        duration_ns: Duration in nanoseconds.
        ttft_ms: Time to first token in milliseconds.
        input_tokens: Input tokens as the span states them.
        output_tokens: Output tokens.
        cache_read_tokens: Input tokens read from the prompt cache.
        cache_write_tokens: Input tokens written to the prompt cache.
        finish_reason: Why the model stopped.
        is_failed: Whether the call failed.
        error: The error, "" when there is none.
        http_retries: Retries by botocore inside the call.
        cycle_span_id: The span of its cycle, "" outside a cycle.
    """

    span_id: str
    model: str | None
    cycle: int | None
    attempt: int
    start_ns: int
    duration_ns: int
    ttft_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    finish_reason: str | None
    is_failed: bool
    error: str
    http_retries: int | None = None
    cycle_span_id: str = ""

    @property
    def duration_ms(self) -> float:
        """Duration in milliseconds."""
        return self.duration_ns / 1e6

    @property
    def streaming_share(self) -> float | None:
        """The share of the call after its first token, between 0 and 1; None when unknown."""
        if self.ttft_ms is None or not self.duration_ns:
            return None
        return min(1.0, max(0.0, 1 - self.ttft_ms / self.duration_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One run of a tool.

    Attributes:
        span_id: The run's span.
        name: The tool's name.
        call_id: The id of the model's tool call, "" when unknown.
        cycle: Its cycle, counted from 1 within its agent; None outside a cycle.
        start_ns: Start in Unix nanoseconds.
        duration_ns: Duration in nanoseconds.
        status: `success`, `error`, or "" when the span states none.
        error: The error, "" when there is none.
    """

    span_id: str
    name: str
    call_id: str
    cycle: int | None
    start_ns: int
    duration_ns: int
    status: str
    error: str

    @property
    def duration_ms(self) -> float:
        """Duration in milliseconds."""
        return self.duration_ns / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A model call that failed and was retried.

    Attributes:
        failed_span_id: The failed call.
        next_span_id: The next attempt.
        cycle: The cycle of both.
        error: Why it failed.
        failed_ns: How long the failed call took, in nanoseconds.
        waited_ns: How long the agent waited before the next attempt.
    """

    failed_span_id: str
    next_span_id: str
    cycle: int | None
    error: str
    failed_ns: int
    waited_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """To what extent tools ran at the same time.

    Attributes:
        calls: The number of tool calls.
        sum_ns: The sum of their durations.
        elapsed_ns: The time during which at least one ran.
        longest_ns: The longest duration.
        most_at_once: How many ran at the busiest moment.
    """

    calls: int
    sum_ns: int
    elapsed_ns: int
    longest_ns: int
    most_at_once: int

    @property
    def factor(self) -> float:
        """`sum_ns` over `elapsed_ns`: 1 when the tools ran one after another, or when there were none."""
        return self.sum_ns / self.elapsed_ns if self.elapsed_ns else 1.0


def model_calls(trace: Trace) -> tuple[ModelCall, ...]:
    """Return every model call once, by start; botocore's duplicate only adds what the framework's span lacks."""
    loops = agent_loops(trace)
    duplicates = _Duplicates(trace)
    attempts: dict[str, int] = {}
    records = trace.records_by_span()
    calls: list[ModelCall] = []
    for span in trace.of_operation("chat"):
        parent = trace.parent(span)
        parent_id = "" if parent is None else parent.span_id
        attempts[parent_id] = attempts.get(parent_id, 0) + 1
        call = _model_call(span, duplicates.of(span), records.get(span.span_id, ()))
        calls.append(
            replace(
                call,
                attempt=attempts[parent_id],
                cycle=loops.numbers.get(span.span_id),
                cycle_span_id=loops.cycles.get(span.span_id, ""),
            )
        )
    return tuple(calls)


class _Duplicates:
    """Model calls that botocore recorded again, by the framework's call that contains them."""

    def __init__(self, trace: Trace) -> None:
        spans = [span for span in trace.duplicates if span.operation == "chat" and trace.span(span.span_id) is None]
        self._below = {span.parent_id: span for span in reversed(spans)}
        self._spans = spans  # by start, as the trace orders them
        self._starts = [span.start_ns for span in spans]

    def of(self, span: Span) -> Span | None:
        if span.span_id in self._below:
            return self._below[span.span_id]
        place = bisect_left(self._starts, span.start_ns)
        within = place < len(self._spans) and self._spans[place].end_ns <= span.end_ns
        return self._spans[place] if within else None


def _model_call(span: Span, duplicate: Span | None, records: Sequence[LogRecord]) -> ModelCall:
    def get(*names: str) -> object:
        sources = (span,) if duplicate is None else (span, duplicate)
        for source in sources:
            for name in names:
                if (value := source.facts.get(name)) is not None:
                    return value
        return None

    usage = "gen_ai.usage."
    return ModelCall(
        span_id=span.span_id,
        model=to_text(get("gen_ai.response.model", "gen_ai.request.model")) or None,
        cycle=None,
        attempt=1,
        start_ns=span.start_ns,
        duration_ns=span.duration_ns,
        ttft_ms=_wait_ms(get("gen_ai.server.time_to_first_token")),
        input_tokens=stated_tokens(get(usage + "input_tokens", usage + "prompt_tokens")),
        output_tokens=stated_tokens(get(usage + "output_tokens", usage + "completion_tokens")),
        cache_read_tokens=stated_tokens(get(usage + "cache_read.input_tokens", usage + "cache_read_input_tokens")),
        cache_write_tokens=stated_tokens(
            get(usage + "cache_creation.input_tokens", usage + "cache_write_input_tokens")
        ),
        finish_reason=_finish_reason(span, get("gen_ai.response.finish_reasons"), records),
        is_failed=span.is_failed,
        error=_error(span),
        http_retries=count_or_none(get("retry_attempts", "aws.retry_attempts")),
    )


def stated_tokens(value: object) -> int | None:
    """Return the count of tokens that a span states; None for anything else and for an impossible count."""
    count = count_or_none(value)
    return count if count is not None and count <= _MOST_TOKENS else None


def _finish_reason(span: Span, value: object, records: Iterable[LogRecord]) -> str | None:
    if reasons := as_list(value):
        return to_text(reasons[0])
    return value if isinstance(value, str) else messages_of(span, records).finish_reason


def _error(span: Span) -> str:
    if not span.is_failed:
        return ""
    for event in span.events:
        if event.name == "exception":
            kind, message = event.attributes.get("exception.type"), event.attributes.get("exception.message")
            return ": ".join(filter(None, (to_text(kind), to_text(message))))
    return span.status_message or to_text(span.attributes.get("error.type")) or "error"


def tool_calls(trace: Trace) -> tuple[ToolCall, ...]:
    """Return every run of a tool, by start."""
    numbers = agent_loops(trace).numbers
    return tuple(
        ToolCall(
            span_id=span.span_id,
            name=to_text(span.facts.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool "),
            call_id=to_text(span.facts.get("gen_ai.tool.call.id")),
            cycle=numbers.get(span.span_id),
            start_ns=span.start_ns,
            duration_ns=span.duration_ns,
            status=to_text(span.facts.get("gen_ai.tool.status"))
            or {"error": "error", "ok": "success"}.get(span.status, ""),
            error=_error(span),
        )
        for span in trace.of_operation("execute_tool")
    )


def retries(calls: Sequence[ModelCall]) -> tuple[Retry, ...]:
    """Return the failed model calls that were followed by another attempt in the same cycle."""
    results: list[Retry] = []
    following: dict[str, ModelCall] = {}
    for call in reversed(calls):
        next_call = following.get(call.cycle_span_id)
        following[call.cycle_span_id] = call
        if call.is_failed and next_call is not None and next_call.attempt > call.attempt:
            results.append(
                Retry(
                    failed_span_id=call.span_id,
                    next_span_id=next_call.span_id,
                    cycle=call.cycle,
                    error=call.error,
                    failed_ns=call.duration_ns,
                    waited_ns=max(0, next_call.start_ns - call.start_ns - call.duration_ns),
                )
            )
    return tuple(reversed(results))


def parallelism(calls: Iterable[ToolCall]) -> Parallelism:
    """Measure to what extent these tool calls ran at the same time."""
    batch = list(calls)
    times = [(call.start_ns, call.start_ns + call.duration_ns) for call in batch]
    return Parallelism(
        calls=len(batch),
        sum_ns=sum(call.duration_ns for call in batch),
        elapsed_ns=total(union(times)),
        longest_ns=max((call.duration_ns for call in batch), default=0),
        most_at_once=most_at_once(times),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLoops:
    """The place of each span in its agent's loop, by span id.

    Attributes:
        numbers: The number of the span's cycle, counted from 1 within its agent.
        cycles: The span id of its cycle; spans outside a cycle are absent.
        agents: The span id of the agent above it, "" where there is none.
    """

    numbers: Mapping[str, int]
    cycles: Mapping[str, str]
    agents: Mapping[str, str]


def agent_loops(trace: Trace) -> AgentLoops:
    """Return the loop of each agent; a cycle contains the spans below it, down to the next agent."""
    agents: dict[str, str] = {}
    cycles: dict[str, str] = {}
    counts: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for _, span in trace.walk():
        parent = trace.parent(span)
        operation = trace.operation(span)
        agents[span.span_id] = agent = _agent_above(agents, parent, trace)
        if operation == "cycle":
            cycles[span.span_id] = span.span_id
            numbers[span.span_id] = counts[agent] = counts.get(agent, 0) + 1
        elif operation != "invoke_agent" and parent is not None and parent.span_id in cycles:
            cycles[span.span_id] = cycles[parent.span_id]
            numbers[span.span_id] = numbers[parent.span_id]
    return AgentLoops(numbers=numbers, cycles=cycles, agents=agents)


def _agent_above(agents: Mapping[str, str], parent: Span | None, trace: Trace) -> str:
    if parent is None:
        return ""
    return parent.span_id if trace.operation(parent) == "invoke_agent" else agents[parent.span_id]


def _wait_ms(value: object) -> float | None:
    """Return a wait in milliseconds; None if it is negative because of a clock error."""
    number = number_or_none(value)
    return number if number is not None and number >= 0 else None
