"""Export requests, as OpenTelemetry's exporters send them, and the records that result from them."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from waiting import wait_until

GROUP = "/aws/bedrock-agentcore/runtimes/demo-1234567890-DEFAULT"
SESSION = "session-of-the-demonstration-0123456789"


def text(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def span(trace_id: str = "0af7651916cd43dd8448eb211c80319c", span_id: str = "9a82801629270b9c", **more: Any) -> Any:
    """A span of OTLP/JSON that began a second ago and took 120 ms."""
    start = time.time_ns() - 10**9
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 120_000_000)}
    defaults = {"traceId": trace_id, "spanId": span_id, "name": "chat", "kind": 1, **times, "attributes": []}
    return defaults | more


def traces(*spans: Any, group: str | None = GROUP, scope: str = "strands.telemetry.tracer") -> dict[str, Any]:
    resource = [text("service.name", "demo.DEFAULT"), *([text("aws.log.group.names", group)] if group else [])]
    return {
        "resourceSpans": [
            {"resource": {"attributes": resource}, "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}
        ]
    }


class Exporter:
    """Posts to the intake of a service and reads what CloudWatch Logs shows."""

    def __init__(self, aws: Any) -> None:
        self.aws = aws

    def get(self, path: str) -> tuple[int, bytes]:
        return self.post(path, None)

    def post(
        self, path: str, body: bytes | Mapping[str, Any] | None, content_type: str = "application/json", **headers: str
    ) -> tuple[int, bytes]:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        extra_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            self.aws.state.url + path,
            data=data,
            headers={"content-type": content_type, "authorization": f"Bearer {self.aws.state.token}", **extra_headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read()

    def send(self, document: Mapping[str, Any], signal: str = "traces", **headers: str) -> dict[str, Any]:
        """Post JSON that is accepted; the answer."""
        status, answer = self.post(f"/otlp/v1/{signal}", document, **headers)
        assert status == 200, answer
        return json.loads(answer)

    def events(self, group: str = "aws/spans", pattern: str = "", **more: Any) -> list[dict[str, Any]]:
        """What FilterLogEvents gives, [] while there is no such group."""
        logs = self.aws.client("logs")
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, filterPattern=pattern, **more)
        try:
            return [event for page in pages for event in page["events"]]
        except logs.exceptions.ResourceNotFoundException:
            return []

    def records(self, group: str = "aws/spans", pattern: str = "", at_least: int = 1) -> list[Any]:
        """Events as JSON documents, once there are enough of them."""

        def found() -> list[dict[str, Any]]:
            events = self.events(group, pattern)
            return events if len(events) >= at_least else []

        return [json.loads(event["message"]) for event in wait_until(found, what=f"{at_least} events", pause_s=0.01)]
