"""CloudWatch Logs in memory, with what Loom asks of it: to count queries, and to be late."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from loomlib.agents import RuntimeArn

SOURCE = RuntimeArn.parse("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/looker-AbC123dEf4")
GROUP = SOURCE.log_group("DEFAULT")


@dataclass
class LogGroups:
    """Stands in for `Clients`. `groups` has (stream, unix ms, message, how many queries it is hidden from) by group."""

    groups: dict[str, list[tuple[str, int, str, int]]] = field(default_factory=dict)
    queries: list[dict[str, Any]] = field(default_factory=list)

    def logs(self, region: str | None = None) -> LogGroups:
        assert region == "us-east-1"
        return self

    def put(
        self, group: str, message: object, *, at_s: float | None = None, stream: str = "default", hidden_for: int = 0
    ) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        at_ms = int((time.time() if at_s is None else at_s) * 1000)
        self.groups.setdefault(group, []).append((stream, at_ms, text, hidden_for))

    def filter_log_events(self, **query: Any) -> dict[str, Any]:
        self.queries.append(query)
        events = self._group(query["logGroupName"])
        term = query.get("filterPattern", "").strip('"').replace('\\"', '"')
        stream_names, prefix = query.get("logStreamNames"), query.get("logStreamNamePrefix", "")
        return {
            "events": [
                {"eventId": str(number), "logStreamName": stream, "timestamp": at_ms, "message": text}
                for number, (stream, at_ms, text, hidden_for) in enumerate(events)
                if len(self.queries) > hidden_for
                and term in text
                and query.get("startTime", 0) <= at_ms <= query.get("endTime", 1e15)
                and (stream_names is None or stream in stream_names)
                and stream.startswith(prefix)
            ]
        }

    def describe_log_groups(self, *, logGroupNamePrefix: str, limit: int) -> dict[str, Any]:
        return {"logGroups": [{"logGroupName": name} for name in self.groups if name.startswith(logGroupNamePrefix)]}

    def describe_log_streams(self, *, logGroupName: str, logStreamNamePrefix: str, limit: int) -> dict[str, Any]:
        times: dict[str, int] = {}
        for stream, at_ms, _, _ in self._group(logGroupName):
            if stream.startswith(logStreamNamePrefix):
                times[stream] = min(at_ms, times.get(stream, at_ms))
        return {"logStreams": [{"logStreamName": name, "firstEventTimestamp": first} for name, first in times.items()]}

    def _group(self, name: str) -> list[tuple[str, int, str, int]]:
        if name not in self.groups:
            error_response = {"Error": {"Code": "ResourceNotFoundException", "Message": "no such group"}}
            raise ClientError(error_response, "FilterLogEvents")  # pyright: ignore[reportArgumentType]
        return self.groups[name]


def span_record(
    trace_id: str,
    span_id: str,
    parent: str | None,
    operation: str,
    start_s: float,
    end_s: float,
    *,
    session_id: str = "",
    runtime: str = SOURCE.runtime_id,
    **attributes: Any,
) -> dict[str, Any]:
    """A record of `aws/spans`."""
    if operation != "server":
        attributes["gen_ai.operation.name"] = operation
    if session_id:
        attributes["session.id"] = session_id
    return {
        "resource": {"attributes": {"cloud.resource_id": f"arn:…:runtime/{runtime}"}},
        "scope": {"name": "strands.telemetry.tracer"},
        "traceId": trace_id,
        "spanId": span_id,
        **({"parentSpanId": parent} if parent else {}),
        "name": "POST /invocations" if operation == "server" else operation,
        "kind": "SERVER" if operation == "server" else "INTERNAL",
        "startTimeUnixNano": int(start_s * 1e9),
        "endTimeUnixNano": int(end_s * 1e9),
        "attributes": attributes,
        "status": {"code": "OK"},
    }
