"""Whether a new process was started for an invocation, by the log streams: each process has its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loomlib.errors import ResourceNotFoundError

from .log_streams import SHARED_STREAM
from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM
from .trace_lookup import TraceRequest

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_AFTER_MS: Final = 2_000
"""The SDK's last line of an invocation is logged a moment after its last byte."""


def processes_began(
    clients: Clients, source: RuntimeSource, requests: Sequence[TraceRequest]
) -> dict[int, bool | None]:
    """Return for each invocation whether its session's process logged its first line after the request was sent.

    None where no line of a process's own stream names the session within the invocation (no lines yet, an agent that
    logs nothing, or a stream that all processes share). One query for each session, and one for each of its streams.

    Args:
        clients: The AWS clients of a connection.
        source: The agent's runtime.
        requests: The invocations, of one agent.

    Returns:
        True (cold), False (warm) or None (unknown) by invocation id.
    """
    is_cold: dict[int, bool | None] = {}
    sessions: dict[tuple[str, str], list[TraceRequest]] = {}
    for request in requests:
        sessions.setdefault((request.qualifier, request.session_id), []).append(request)
    for (qualifier, session_id), group_requests in sessions.items():
        try:
            is_cold |= _of_session(clients, source, source.log_group(qualifier), session_id, group_requests)
        except ResourceNotFoundError:
            is_cold |= {request.invocation_id: None for request in group_requests}
    return is_cold


def _of_session(
    clients: Clients, source: RuntimeSource, group: str, session_id: str, requests: Sequence[TraceRequest]
) -> dict[int, bool | None]:
    from loomlib.aws.logs import filter_events, first_event_ms

    intervals = {request.invocation_id: _interval_ms(request) for request in requests}
    lines = filter_events(
        clients,
        group,
        region=source.region,
        term=session_id,
        start_ms=min(start for start, _ in intervals.values()),
        end_ms=max(end for _, end in intervals.values()),
    )
    lines = [line for line in lines if line.stream not in (MESSAGES_STREAM, SHARED_STREAM)]
    first_lines = {
        stream: first_event_ms(clients, group, stream, region=source.region)
        for stream in {line.stream for line in lines}
    }
    is_cold: dict[int, bool | None] = {}
    for request in requests:
        start, end = intervals[request.invocation_id]
        starts = [
            first_line
            for line in lines
            if start <= line.timestamp_ms <= end and (first_line := first_lines[line.stream])
        ]
        is_cold[request.invocation_id] = max(starts) >= start if starts else None
    return is_cold


def _interval_ms(request: TraceRequest) -> tuple[int, int]:
    sent_s = request.sent_s or 0.0
    done_s = request.done_s if request.done_s is not None else sent_s
    return int(sent_s * 1000), int(done_s * 1000) + _AFTER_MS
