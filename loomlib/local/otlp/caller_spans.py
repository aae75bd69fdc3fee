"""The service's spans of operations, as children of the spans that callers name."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any, Final

from ..resources import Place
from .collector import Collector

_log = logging.getLogger(__name__)
_W3C: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_XRAY_ROOT: Final = re.compile(r"(?:^|;)\s*Root=1-([0-9a-f]{8})-([0-9a-f]{24})(?:;|$)")
_XRAY_PARENT: Final = re.compile(r"(?:^|;)\s*Parent=([0-9a-f]{16})(?:;|$)")
_SERVER, _ERROR = 2, 2  # OTLP's numbers of a span's kind and a status


class CallerSpans:
    """Writes one span for each operation whose caller passes its trace context.

    Args:
        collector: Stores it, in `aws/spans`.
        delay_s: How long records stay invisible, as the service's other telemetry.
    """

    def __init__(self, collector: Collector, *, delay_s: float) -> None:
        self._collector, self._delay_s = collector, delay_s
        self._writing: set[asyncio.Task[None]] = set()

    def write(
        self,
        operation: str,
        parameters: Mapping[str, Any],
        place: Place,
        arn: str,
        *,
        began_ns: int,
        attributes: Mapping[str, str | int],
        is_error: bool = False,
        span_id: str = "",
    ) -> None:
        """Write the span in the background, if the caller names a parent span.

        Args:
            operation: The operation, which names the span.
            parameters: The request's parameters, with `traceParent` or `traceId`.
            place: The caller's region and account.
            arn: The code interpreter, the browser or the gateway.
            began_ns: When the request arrived, in nanoseconds since 1970.
            attributes: Further attributes.
            is_error: Whether the operation failed.
            span_id: The span's id, if other spans are its children; a new one by default.
        """
        parent = trace_of(parameters)
        if parent is None:
            return
        kind = arn.split(":")[-1].partition("/")[0].removesuffix("-custom")
        common: dict[str, str | int] = {
            "aws.operation.name": operation,
            "aws.resource.arn": arn,
            "aws.account.id": place.account_id,
            "aws.region": place.region,
        }
        span = {
            "traceId": parent[0],
            "spanId": span_id or secrets.token_hex(8),
            "parentSpanId": parent[1],
            "name": operation,
            "kind": _SERVER,
            "startTimeUnixNano": str(began_ns),
            "endTimeUnixNano": str(time.time_ns()),
            "attributes": _attributes({**common, **attributes}),
            "status": {"code": _ERROR} if is_error else {},
        }
        resource = _attributes({"service.name": f"bedrock-agentcore.{kind}", "cloud.resource_id": arn})
        scope = {"name": "loom.local"}
        body = {
            "resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": scope, "spans": [span]}]}]
        }
        task = asyncio.get_running_loop().create_task(self._store(json.dumps(body).encode()))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _store(self, body: bytes) -> None:
        head: dict[str, Any] = {
            "signal": "traces",
            "content_type": "application/json",
            "encoding": "",
            "delay_s": self._delay_s,
            "origin": {"session_id": "", "group": "", "stream": "", "namespace": ""},
        }
        answer = await self._collector.take(head, body)
        if answer.status != 200 or answer.refused:
            _log.warning("The span of an operation was not stored: %s", answer.message)


def trace_of(parameters: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the ids of the caller's trace and span: of `traceParent`, else of X-Ray's `traceId`.

    Returns:
        None if the caller does not name a span, or if its trace is not sampled.
    """
    if match := _W3C.fullmatch(parameters.get("traceParent") or ""):
        return (match[1], match[2]) if int(match[3], 16) & 1 else None
    header = parameters.get("traceId") or ""
    root, parent = _XRAY_ROOT.search(header), _XRAY_PARENT.search(header)
    if root is None or parent is None or "Sampled=0" in header:
        return None
    return root[1] + root[2], parent[1]


def _attributes(values: Mapping[str, str | int]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]
