"""The calls of a trace: to models (first token, streaming, tokens, retries) and to tools (durations, parallelism)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .intervals import most_at_once, total, union
from .messages import said_around
from .span import LogRecord, Span
from .trace import Trace
from .values import as_list, count_of, number_of, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One attempt to have a model answer. Tokens and `ttft_ms` are None where the span does not say them.

    `cycle` counts from 1 within its agent (None outside a cycle). `attempt` counts the tries within the cycle.
    `streaming_share` is the part of the call after its first token. `http_retries` are botocore's, inside the call.
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
        """In milliseconds."""
        return self.duration_ns / 1e6

    @property
    def streaming_share(self) -> float | None:
        """Between 0 and 1: how much of the call came after its first token."""
        if self.ttft_ms is None or not self.duration_ns:
            return None
        return min(1.0, max(0.0, 1 - self.ttft_ms / self.duration_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One run of a tool. `status` is `success`, `error` or "" (nothing says)."""

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
        """In milliseconds."""
        return self.duration_ns / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A model call that failed and was tried again: the time it took, and the wait before the next try."""

    failed_span_id: str
    next_span_id: str
    cycle: int | None
    error: str
    failed_ns: int
    waited_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """How far tools ran at the same time: `sum_ns` of their durations within `elapsed_ns`, `most_at_once` of them.

    `factor` is the ratio of the two: 1 when they ran one after the other.
    """

    calls: int
    sum_ns: int
    elapsed_ns: int
    longest_ns: int
    most_at_once: int

    @property
    def factor(self) -> float:
        """Durations over elapsed time; 1 without any."""
        return self.sum_ns / self.elapsed_ns if self.elapsed_ns else 1.0


def model_calls(trace: Trace) -> tuple[ModelCall, ...]:
    """Every model call once, by its start; botocore's twin only adds what the framework's span does not say."""
    where = loops(trace)
    twins = _Twins(trace)
    attempts: dict[str, int] = {}
    records = trace.records_by_span()
    found: list[ModelCall] = []
    for span in trace.of_operation("chat"):
        above = trace.parent(span)
        key = "" if above is None else above.span_id
        attempts[key] = attempts.get(key, 0) + 1
        made = _model_call(span, twins.of(span), records.get(span.span_id, ()))
        found.append(
            replace(
                made,
                attempt=attempts[key],
                cycle=where.numbers.get(span.span_id),
                cycle_span_id=where.cycles.get(span.span_id, ""),
            )
        )
    return tuple(found)


class _Twins:
    """The model calls that botocore recorded again, found by the call they lie below or within."""

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


def _model_call(span: Span, twin: Span | None, records: Sequence[LogRecord]) -> ModelCall:
    def get(*names: str) -> object:
        sources = (span,) if twin is None else (span, twin)
        for source in sources:
            for name in names:
                if (value := source.attributes.get(name)) is not None:
                    return value
        return None

    usage = "gen_ai.usage."
    return ModelCall(
        span_id=span.span_id,
        model=text_of(get("gen_ai.response.model", "gen_ai.request.model")) or None,
        cycle=None,
        attempt=1,
        start_ns=span.start_ns,
        duration_ns=span.duration_ns,
        ttft_ms=_wait_ms(get("gen_ai.server.time_to_first_token")),
        input_tokens=count_of(get(usage + "input_tokens", usage + "prompt_tokens")),
        output_tokens=count_of(get(usage + "output_tokens", usage + "completion_tokens")),
        cache_read_tokens=count_of(get(usage + "cache_read.input_tokens", usage + "cache_read_input_tokens")),
        cache_write_tokens=count_of(get(usage + "cache_creation.input_tokens", usage + "cache_write_input_tokens")),
        finish_reason=_finish_reason(span, get("gen_ai.response.finish_reasons"), records),
        is_failed=span.is_failed,
        error=_error(span),
        http_retries=count_of(get("retry_attempts", "aws.retry_attempts")),
    )


def _finish_reason(span: Span, stated: object, records: Iterable[LogRecord]) -> str | None:
    if listed := as_list(stated):
        return text_of(listed[0])
    return stated if isinstance(stated, str) else said_around(span, records).finish_reason


def _error(span: Span) -> str:
    if not span.is_failed:
        return ""
    for event in span.events:
        if event.name == "exception":
            kind, message = event.attributes.get("exception.type"), event.attributes.get("exception.message")
            return ": ".join(filter(None, (text_of(kind), text_of(message))))
    return span.status_message or text_of(span.attributes.get("error.type")) or "error"


def tool_calls(trace: Trace) -> tuple[ToolCall, ...]:
    """Every run of a tool, by its start."""
    places = loops(trace).numbers
    return tuple(
        ToolCall(
            span_id=span.span_id,
            name=text_of(span.attributes.get("gen_ai.tool.name")) or span.name.removeprefix("execute_tool "),
            call_id=text_of(span.attributes.get("gen_ai.tool.call.id")),
            cycle=places.get(span.span_id),
            start_ns=span.start_ns,
            duration_ns=span.duration_ns,
            status=text_of(span.attributes.get("gen_ai.tool.status"))
            or {"error": "error", "ok": "success"}.get(span.status, ""),
            error=_error(span),
        )
        for span in trace.of_operation("execute_tool")
    )


def retries(calls: Sequence[ModelCall]) -> tuple[Retry, ...]:
    """Failed model calls that were followed by another try in the same cycle."""
    found: list[Retry] = []
    following: dict[str, ModelCall] = {}
    for call in reversed(calls):
        again = following.get(call.cycle_span_id)
        following[call.cycle_span_id] = call
        if call.is_failed and again is not None and again.attempt > call.attempt:
            found.append(
                Retry(
                    failed_span_id=call.span_id,
                    next_span_id=again.span_id,
                    cycle=call.cycle,
                    error=call.error,
                    failed_ns=call.duration_ns,
                    waited_ns=max(0, again.start_ns - call.start_ns - call.duration_ns),
                )
            )
    return tuple(reversed(found))


def parallelism(calls: Iterable[ToolCall]) -> Parallelism:
    """How far these tool calls ran at the same time."""
    known = list(calls)
    times = [(call.start_ns, call.start_ns + call.duration_ns) for call in known]
    return Parallelism(
        calls=len(known),
        sum_ns=sum(call.duration_ns for call in known),
        elapsed_ns=total(union(times)),
        longest_ns=max((call.duration_ns for call in known), default=0),
        most_at_once=most_at_once(times),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loops:
    """Where spans stand in their agent's loop, by span id.

    `numbers` counts cycles from 1 within their agent, by start; `cycles` has the id of the cycle above each span that
    has one; `agents` the id of the agent above each span, "" where there is none.
    """

    numbers: Mapping[str, int]
    cycles: Mapping[str, str]
    agents: Mapping[str, str]


def loops(trace: Trace) -> Loops:
    """The loop of each agent. A cycle holds what lies below it, down to the next agent."""
    agents: dict[str, str] = {}
    owners: dict[str, str] = {}
    counts: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for _, span in trace.walk():
        above = trace.parent(span)
        operation = trace.operation(span)
        agents[span.span_id] = agent = _below(agents, above, trace)
        if operation == "cycle":
            owners[span.span_id] = span.span_id
            numbers[span.span_id] = counts[agent] = counts.get(agent, 0) + 1
        elif operation != "invoke_agent" and above is not None and above.span_id in owners:
            owners[span.span_id] = owners[above.span_id]
            numbers[span.span_id] = numbers[above.span_id]
    return Loops(numbers=numbers, cycles=owners, agents=agents)


def _below(agents: Mapping[str, str], above: Span | None, trace: Trace) -> str:
    if above is None:
        return ""
    return above.span_id if trace.operation(above) == "invoke_agent" else agents[above.span_id]


def _wait_ms(value: object) -> float | None:
    """A wait in milliseconds; one of less than nothing is a clock's mistake and says nothing."""
    number = number_of(value)
    return number if number is not None and number >= 0 else None
