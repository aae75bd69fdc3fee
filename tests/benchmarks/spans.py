"""Export requests as a busy agent would send them, made beforehand so that sending costs little."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

_SPANS_A_TRACE = 7


def export_request(spans: int, *, group: str) -> bytes:
    """OTLP/JSON with so many spans of some 1.6 kB, seven to a trace, two messages each."""
    resource = {
        "service.name": "bench.DEFAULT",
        "aws.log.group.names": group,
        "cloud.resource_id": f"arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/{group}",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.45.1",
    }
    scope = {"scope": {"name": "strands.telemetry.tracer"}, "spans": _spans(spans)}
    return json.dumps(
        {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]},
        separators=(",", ":"),
    ).encode()


def _spans(count: int) -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = []
    trace = session = ""
    for number in range(count):
        if number % _SPANS_A_TRACE == 0:
            trace, session = secrets.token_hex(16), f"benchmark-{secrets.token_hex(16)}"
        start = time.time_ns() + number * 1_000
        values = {
            "session.id": session,
            "gen_ai.event.start_time": "2026-11-21T20:42:40.685229+00:00",
            "gen_ai.event.end_time": "2026-11-21T20:42:40.806163+00:00",
            "gen_ai.operation.name": "chat",
            "gen_ai.system": "strands-agents",
            **{f"gen_ai.usage.{kind}_tokens": 100 for kind in ("prompt", "input", "completion", "output", "total")},
            "gen_ai.server.time_to_first_token": 120,
            "gen_ai.server.request.duration": 115,
        }
        events = [
            {"name": "gen_ai.user.message", "content": '[{"text": "What is 2+2?"}]'},
            {"name": "gen_ai.choice", "finish_reason": "end_turn", "message": '[{"text": "The sum is 4."}]'},
        ]
        spans.append(
            {
                "traceId": trace,
                "spanId": secrets.token_hex(8),
                "parentSpanId": secrets.token_hex(8),
                "name": "chat",
                "kind": 1,
                "startTimeUnixNano": str(start),
                "endTimeUnixNano": str(start + 120_000_000),
                "attributes": _attributes(values),
                "events": [
                    {"name": event.pop("name"), "timeUnixNano": str(start), "attributes": _attributes(event)}
                    for event in events
                ],
                "status": {"code": 1},
            }
        )
    return spans


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]
