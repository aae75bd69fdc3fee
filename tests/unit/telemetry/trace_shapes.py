"""Spans of invented requests, in both conventions and in each form they can arrive in."""

from __future__ import annotations

import base64
import json
from typing import Any

from loomlib.telemetry.traces import Span

MS = 1_000_000
T0 = 1_795_293_700_000_000_000
TRACE = "69b2f37963a139ff1d6114ea6b800056"


def span(id: str, parent: str | None, operation: str, start_ms: float, end_ms: float, **more: Any) -> Span:
    """A span as a value; `start_ms` and `end_ms` after T0."""
    attributes = dict(more.pop("attributes", {}))
    kind = more.pop("kind", "internal")
    if operation == "server":
        kind = "server"
    elif operation == "memory":
        kind, more["name"] = "client", more.get("name", "Bedrock AgentCore.ListEvents")
    elif operation != "other":
        stated = "execute_event_loop_cycle" if operation == "cycle" else operation
        attributes.setdefault("gen_ai.operation.name", stated)
    return Span(
        trace_id=more.pop("trace_id", TRACE),
        span_id=id,
        parent_id=parent,
        name=more.pop("name", operation),
        kind=kind,
        start_ns=T0 + round(start_ms * MS),
        end_ns=T0 + round(end_ms * MS),
        attributes=attributes,
        **more,
    )


def field_note_request() -> list[Span]:
    """What was published about one small request: 4,613 ms in the agent, two model calls, one tool of 3 ms."""
    tokens = [(1752, 44, 2707), (1822, 54, 1395)]
    usage = [
        {
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
            "gen_ai.server.time_to_first_token": ttft_ms,
        }
        for input_tokens, output_tokens, ttft_ms in tokens
    ]
    return [
        span("5e", "ca11e4", "server", 0, 4613, name="POST /invocations"),
        span("a9", "5e", "invoke_agent", 20, 4600),
        span("c1", "a9", "cycle", 40, 3050),
        span("m1", "c1", "chat", 60, 2976, attributes=usage[0]),
        span("t1", "c1", "execute_tool", 3000, 3003, attributes={"gen_ai.tool.name": "calculator"}),
        span("c2", "a9", "cycle", 3060, 4590),
        span("m2", "c2", "chat", 3090, 4579, attributes=usage[1]),
    ]


def otlp_pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    def wrap(value: Any) -> dict[str, Any]:
        if isinstance(value, bool):
            return {"boolValue": value}
        if isinstance(value, int):
            return {"intValue": str(value)}
        if isinstance(value, float):
            return {"doubleValue": value}
        if isinstance(value, bytes):
            return {"bytesValue": base64.b64encode(value).decode()}
        if isinstance(value, list):
            return {"arrayValue": {"values": [wrap(item) for item in value]}}
        return {"stringValue": value}

    return [{"key": key, "value": wrap(value)} for key, value in attributes.items()]


def otlp(spans: list[Span], *, id_form: str = "hex") -> dict[str, Any]:
    """The spans as one OTLP JSON export. Span ids must be hex of 16 characters for base64."""

    def id_(value: str | None) -> str:
        if not value:
            return ""
        return base64.b64encode(bytes.fromhex(value)).decode() if id_form == "base64" else value

    raw = [
        {
            "traceId": id_(span.trace_id),
            "spanId": id_(span.span_id),
            "parentSpanId": id_(span.parent_id),
            "name": span.name,
            "kind": {"internal": 1, "server": 2, "client": 3}[span.kind],
            "startTimeUnixNano": str(span.start_ns),
            "endTimeUnixNano": str(span.end_ns),
            "attributes": otlp_pairs(dict(span.attributes)),
            "events": [
                {
                    "name": event.name,
                    "timeUnixNano": str(event.time_ns),
                    "attributes": otlp_pairs(dict(event.attributes)),
                }
                for event in span.events
            ],
            "status": {"code": {"unset": 0, "ok": 1, "error": 2}[span.status]},
        }
        for span in spans
    ]
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": raw}]}]}


def stored(span: Span) -> dict[str, Any]:
    """A span as a record of `aws/spans`."""
    return {
        "resource": {"attributes": {"service.name": "demo.DEFAULT"}},
        "scope": {"name": span.scope},
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": span.kind.upper(),
        "startTimeUnixNano": span.start_ns,
        "endTimeUnixNano": span.end_ns,
        "durationNano": span.end_ns - span.start_ns,
        "attributes": dict(span.attributes),
        "status": {"code": span.status.upper()},
    }


def json_lines(spans: list[Span]) -> bytes:
    return "\n".join(json.dumps(stored(span)) for span in spans).encode()
