"""The tokens of an invocation's model calls, as stated in their spans or counted afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loomlib.errors import LoomError
from loomlib.json_values import count_or_none, to_text

from ..traces import ModelCall, Span, Step, Trace, model_calls
from ..traces.calls import stated_tokens
from ..traces.messages import messages_of

CountTokens = Callable[[str, Sequence[Mapping[str, Any]], Sequence[str]], int]
"""Counts the tokens of a Converse request: model id, messages, system texts.

`functools.partial(loomlib.aws.token_counts.count_tokens, clients)` is one.
"""

STATES = ("stated", "counted", "missing", "not_billed")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """The tokens of one model call by kind; None where unknown.

    Attributes:
        span_id: The call's span.
        model: The model id.
        input_tokens: Input tokens that were neither read from nor written to the cache.
        output_tokens: Output tokens.
        cache_read_tokens: Input tokens read from the cache.
        cache_write_tokens: Input tokens written to the cache.
        state: `stated` by the span, `counted` afterwards, `missing`, or `not_billed` (throttled).
        why: Why something is missing, or how it was counted.
    """

    span_id: str
    model: str | None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    state: str = "stated"
    why: str = ""

    @property
    def prompt_tokens(self) -> int:
        """All tokens that the model read, as far as known."""
        return (self.input_tokens or 0) + self.cache_read_tokens + self.cache_write_tokens


def usage_of(trace: Trace, *, count_tokens: CountTokens | None = None) -> tuple[CallUsage, ...]:
    """Return the usage of every model call, or of the agent as a whole where its model calls have no spans.

    Args:
        trace: The invocation's trace.
        count_tokens: Counts the tokens of calls whose spans state no usage.
    """
    calls = model_calls(trace)
    if not calls:
        return tuple(_of_agent(trace))
    usages = [_of_call(trace, call) for call in calls]
    if count_tokens is None:
        return tuple(usages)
    return tuple(_counted(trace, usage, count_tokens) if usage.state == "missing" else usage for usage in usages)


def _of_call(trace: Trace, call: ModelCall) -> CallUsage:
    model = call.model or _model_above(trace, call.span_id)
    if call.input_tokens is None and call.output_tokens is None:
        refused = call.is_failed and "throttl" in call.error.lower()
        return CallUsage(
            span_id=call.span_id,
            model=model,
            state="not_billed" if refused else "missing",
            why="throttled" if refused else "the span states no usage",
        )
    cache_read, cache_written = call.cache_read_tokens or 0, call.cache_write_tokens or 0
    span = trace.span(call.span_id)
    total = None if span is None else count_or_none(span.facts.get("gen_ai.usage.total_tokens"))
    fresh = _fresh(call.input_tokens, call.output_tokens, total, cache_read + cache_written)
    return CallUsage(
        span_id=call.span_id,
        model=model,
        input_tokens=fresh,
        output_tokens=call.output_tokens,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_written,
        why="" if fresh is not None and call.output_tokens is not None else "the span states only part of the usage",
    )


def _fresh(input_tokens: int | None, output_tokens: int | None, total: int | None, cached: int) -> int | None:
    """Return the input tokens that are not cached tokens."""
    if input_tokens is not None and cached and total == input_tokens + (output_tokens or 0):
        return max(0, input_tokens - cached)  # cached tokens are part of the input here; Bedrock counts them apart
    return input_tokens


def _of_agent(trace: Trace) -> list[CallUsage]:
    usages: list[CallUsage] = []
    for span in trace.of_operation("invoke_agent"):
        if any(trace.operation(above) == "invoke_agent" for above in trace.ancestors(span)):
            continue  # included in the outer agent's sum
        get, usage = span.facts.get, "gen_ai.usage."
        input_ = stated_tokens(get(usage + "input_tokens", get(usage + "prompt_tokens")))
        output = stated_tokens(get(usage + "output_tokens", get(usage + "completion_tokens")))
        cache_read = stated_tokens(get(usage + "cache_read.input_tokens", get(usage + "cache_read_input_tokens"))) or 0
        cache_written = (
            stated_tokens(get(usage + "cache_creation.input_tokens", get(usage + "cache_write_input_tokens"))) or 0
        )
        total = count_or_none(get(usage + "total_tokens"))
        has_usage = input_ is not None or output is not None
        usages.append(
            CallUsage(
                span_id=span.span_id,
                model=_model(span),
                input_tokens=_fresh(input_, output, total, cache_read + cache_written),
                output_tokens=output,
                cache_read_tokens=cache_read,
                cache_write_tokens=cache_written,
                state="stated" if has_usage else "missing",
                why="the agent's sum, as its model calls have no spans" if has_usage else "no span states any usage",
            )
        )
    return usages


def _model(span: Span) -> str | None:
    get = span.facts.get
    return to_text(get("gen_ai.response.model", get("gen_ai.request.model"))) or None


def _model_above(trace: Trace, span_id: str) -> str | None:
    return next((model for above in trace.ancestors(span_id) if (model := _model(above))), None)


def _counted(trace: Trace, usage: CallUsage, count_tokens: CountTokens) -> CallUsage:
    """Count the call's messages as text, without the tools' schemas, which no span contains."""
    span = trace.span(usage.span_id)
    if span is None or usage.model is None:
        return usage
    recorded = messages_of(span, [record for record in trace.log_records if record.span_id == span.span_id])
    input_messages = _converse_messages([*recorded.inputs, *recorded.history])
    output_messages = _converse_messages(recorded.outputs)
    if not input_messages or (not output_messages and not span.is_failed):
        return replace(usage, why="the span states no usage and has no messages to count")
    try:
        input_tokens = count_tokens(usage.model, input_messages, tuple(step.text for step in recorded.system))
        output_tokens = (
            count_tokens(usage.model, [{**message, "role": "user"} for message in output_messages], ())
            if output_messages
            else 0
        )
    except LoomError as error:
        return replace(usage, why=f"the span states no usage, and counting failed: {error.what}")
    return replace(
        usage,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        state="counted",
        why="counted from the messages without tool schemas: a lower bound",
    )


def _converse_messages(messages: Sequence[Sequence[Step]]) -> list[dict[str, Any]]:
    """Return Converse messages of text only; neighbours with the same role are merged, as Converse requires."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        for step in message:
            role = "assistant" if step.kind in ("assistant", "tool_call") else "user"
            text = _text(step)
            if not text:
                continue
            if merged and merged[-1]["role"] == role:
                merged[-1]["content"].append({"text": text})
            else:
                merged.append({"role": role, "content": [{"text": text}]})
    return merged


def _text(step: Step) -> str:
    if step.kind == "tool_call":
        return f"{step.name} {to_text(step.arguments)}"
    return to_text(step.result) if step.kind == "tool_result" else step.text
