"""A runtime's application log (`APPLICATION_LOGS`): one record per invocation, if a delivery requests it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..contract import AgentCall, LogSink
from ..resources import place_of

STREAM: Final = "BedrockAgentCoreRuntime_ApplicationLogs"
_PAYLOAD_BYTES: Final = 64_000  # of each payload, so that a record fits into a log event of 256 KiB


class ApplicationLogs:
    """Writes the records.

    Args:
        sink: Receives the records.
        groups: Returns the keys of the log groups to which a resource's logs of a type are delivered.
    """

    def __init__(self, sink: LogSink, groups: Callable[[str, str], Sequence[str]]) -> None:
        self._sink, self._groups = sink, groups

    def begin(self, call: AgentCall, request_id: str) -> InvocationLog | None:
        """Return a record of an invocation that has started; None if no delivery requests it."""
        groups = self._groups(call.runtime.arn, "APPLICATION_LOGS")
        return InvocationLog(self._sink, groups, call, request_id) if groups else None


class InvocationLog:
    """One invocation; `add` receives the parts of its response, and `end` writes the record."""

    def __init__(self, sink: LogSink, groups: Sequence[str], call: AgentCall, request_id: str) -> None:
        self._sink, self._groups, self._call, self._request_id = sink, groups, call, request_id
        self._answer = bytearray()

    def add(self, chunk: bytes) -> None:
        """Add a part of the response."""
        if len(self._answer) < _PAYLOAD_BYTES:
            self._answer += chunk

    def end(self) -> None:
        """Write the record."""
        call, now_ms = self._call, int(time.time() * 1000)
        trace = [*call.headers.get("traceparent", "").split("-"), "", "", ""]
        record = {
            "resource_arn": call.runtime.arn,
            "event_timestamp": now_ms,
            "account_id": place_of(call.runtime.arn).account_id,
            "request_id": self._request_id,
            "session_id": call.session_id,
            "trace_id": trace[1],
            "span_id": trace[2],
            "service_name": "AgentCoreCodeRuntime",
            "operation": "InvokeAgentRuntime",
            "request_payload": _payload(call.body),
            "response_payload": _payload(bytes(self._answer)),
        }
        for group in self._groups:
            self._sink.write(group=group, stream=STREAM, timestamp_ms=now_ms, message=json.dumps(record))


def _payload(content: bytes) -> Any:
    if len(content) <= _PAYLOAD_BYTES:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            pass
    return content[:_PAYLOAD_BYTES].decode("utf-8", "replace")
