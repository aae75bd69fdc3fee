"""Traces with nothing in them but what a bill is made of."""

from __future__ import annotations

from typing import Any

from loomlib.telemetry.traces import Span, SpanEvent, Trace

SECOND = 1_000_000_000
T0 = 1_795_293_700 * SECOND
HAIKU = "anthropic.claude-3-haiku-20240307-v1:0"
SONNET = "us.anthropic.claude-sonnet-4-20250514-v1:0"


def call(model: str | None, read: int | None, wrote: int | None, **more: Any) -> dict[str, Any]:
    """What a model call's span says; further usage by its last word, as `cache_read=…`."""
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    if model is not None:
        attributes["gen_ai.request.model"] = model
    names = {
        "input_tokens": read,
        "output_tokens": wrote,
        "cache_read.input_tokens": more.get("cache_read"),
        "cache_creation.input_tokens": more.get("cache_write"),
        "total_tokens": more.get("total"),
    }
    return attributes | {f"gen_ai.usage.{name}": value for name, value in names.items() if value is not None}


def trace_of(*calls: dict[str, Any], number: int = 1, agent: dict[str, Any] | None = None, **more: Any) -> Trace:
    """An agent with these model calls, one a second."""
    trace_id = f"{number:032x}"
    about = {"gen_ai.operation.name": "invoke_agent"} | (agent or {})
    spans = [
        Span(
            trace_id=trace_id, span_id="a9", name="invoke_agent", start_ns=T0, end_ns=T0 + 60 * SECOND, attributes=about
        )
    ]
    for place, attributes in enumerate(calls):
        spans.append(
            Span(
                trace_id=trace_id,
                span_id=f"c{place}",
                parent_id="a9",
                name="chat",
                start_ns=T0 + place * SECOND,
                end_ns=T0 + (place + 1) * SECOND,
                attributes=attributes,
                **more,
            )
        )
    return Trace.one(spans)


def refusal() -> dict[str, Any]:
    """A span's further fields when the model's service refused it for too many requests."""
    event = SpanEvent(
        name="exception",
        time_ns=T0,
        attributes={"exception.type": "ModelThrottledException", "exception.message": "ThrottlingException: slow down"},
    )
    return {"status": "error", "events": (event,)}
