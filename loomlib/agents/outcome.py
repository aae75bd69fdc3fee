"""The outcome of a request: the class of its failure, and its record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from loomlib import errors
from loomlib.aws.errors import error_from_response

from .record import InvocationRecord
from .requests import InvocationRequest
from .timeline import Timeline
from .trace_context import trace_id_in

if TYPE_CHECKING:
    from loomlib.aws.transport import HttpResponse

_ERROR_BODY_LIMIT = 64_000
_FAILURE_OF: Final[Mapping[type[errors.AwsError], str]] = {
    errors.ThrottledError: "throttle",
    errors.QuotaExceededError: "quota",
    errors.AgentFailedError: "agent_error",
    errors.ResourceLimitError: "resource_limit",
    errors.TransportError: "transport",
    errors.RequestTimeoutError: "timeout",
    errors.MalformedResponseError: "malformed_stream",
    errors.ServiceFailedError: "service_error",
}


def failure_of(error: errors.AwsError) -> str:
    """Return the class of `loomlib.agents.FAILURES` that an AWS error belongs to."""
    return _FAILURE_OF.get(type(error), "rejected")


async def read_refusal(answer: HttpResponse, line: Timeline) -> bytes:
    """Read the body of an error response, up to 64,000 bytes, and count it in the timeline."""
    body = bytearray()
    async for arrival in answer.arrivals():
        if line.first_byte_ns is None:
            line.first_byte_ns = arrival.at_ns
        line.bytes_received += len(arrival.data)
        body += arrival.data[: max(0, _ERROR_BODY_LIMIT - len(body))]
    return bytes(body)


def refusal(answer: HttpResponse, body: bytes, *, what: str, on: str) -> errors.AwsError:
    """Return the error of a response with the status 300 or above, by its status and AWS's error code.

    Args:
        answer: The response.
        body: Its body.
        what: The operation.
        on: What it was working on.
    """
    code, message = _error_of(body, answer.headers)
    return error_from_response(
        answer.status,
        what=what,
        on=on,
        code=code,
        message=message,
        request_id=answer.headers.get("x-amzn-requestid", ""),
    )


def record_of(
    request: InvocationRequest, line: Timeline, *, id: int, done_ns: int, was_sent: bool = True
) -> InvocationRecord:
    """Return the record of a request that has ended.

    Args:
        request: The request.
        line: What was measured and received.
        id: Its id in the database.
        done_ns: When it ended, a reading of `time.perf_counter_ns`.
        was_sent: Whether the request was sent; otherwise it has no time of sending.
    """
    return InvocationRecord(
        id=id,
        agent_arn=str(request.agent.arn),
        agent_name=request.agent.name,
        session_id=request.session_id,
        qualifier=request.qualifier,
        prompt=request.payload.prompt,
        status="complete" if line.failure is None else "error",
        response=line.response,
        client_invoke_time=line.invoke_time if was_sent else None,
        client_done_time=line.clock.unix_s(done_ns),
        client_duration_ms=line.offset_ms(done_ns),
        ttft_ms=line.ttft_ms,
        connect_ms=line.connect_ms,
        connection_reused=line.connection_reused,
        chunk_offsets_ms=tuple(line.offsets_ms),
        bytes_received=line.bytes_received,
        wire=line.wire,
        failure=line.failure,
        error_message=line.error_message,
        request_id=line.headers.get("x-amzn-requestid"),
        trace_id=_trace_id(request, line),
        content_type=line.headers.get("content-type"),
        labels=request.labels,
        payload_digest=request.payload.digest,
        retry_after_s=_seconds(line.headers.get("retry-after")),
    )


def _trace_id(request: InvocationRequest, line: Timeline) -> str | None:
    """Return the trace id of the response's `traceparent`, or of the request's if the response has none."""
    traceparent = line.headers.get("traceparent")
    response_trace_id = trace_id_in({"traceparent": traceparent}) if traceparent else None
    return response_trace_id or trace_id_in(request.headers) or trace_id_in(line.headers)


def _seconds(retry_after: str | None) -> float | None:
    """Parse a Retry-After header in seconds; its other form, a date, depends on the service's clock and is ignored."""
    return float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None


def _error_of(body: bytes, headers: Mapping[str, str]) -> tuple[str, str]:
    """Return AWS's error code and message of a REST-JSON error response."""
    text = body.decode("utf-8", "replace")
    code = headers.get("x-amzn-errortype", "")
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    message = text
    if isinstance(parsed, dict):
        fields = cast("Mapping[str, object]", parsed)
        if isinstance(nested := fields.get("error"), dict):  # JSON-RPC: AgentCore's form of 401
            fields = cast("Mapping[str, object]", nested)
        message = str(fields.get("message") or fields.get("Message") or text)
        code = code or str(fields.get("__type") or fields.get("code") or "")
    return code.partition(":")[0].rpartition("#")[2], message
