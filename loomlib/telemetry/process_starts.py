"""Whether the process that answered a call began for it: by the log streams, of which each process has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from loomlib.errors import ResourceNotFoundError

from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM
from .trace_lookup import TracedCall

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

_AFTER_MS: Final = 2_000
"""The SDK's closing line of an invocation is written a moment after its last byte."""


def processes_began(clients: Clients, source: RuntimeSource, calls: Sequence[TracedCall]) -> dict[int, bool | None]:
    """For each call of an agent, by invocation id: did its session's process write its first line after the call?

    None where no line names the session within the call (no lines yet, or an agent that logs nothing). One query for
    each session, and one for each of its streams.
    """
    found: dict[int, bool | None] = {}
    sessions: dict[tuple[str, str], list[TracedCall]] = {}
    for call in calls:
        sessions.setdefault((call.qualifier, call.session_id), []).append(call)
    for (qualifier, session_id), own in sessions.items():
        try:
            found |= _of_session(clients, source, source.log_group(qualifier), session_id, own)
        except ResourceNotFoundError:
            found |= {call.invocation_id: None for call in own}
    return found


def _of_session(
    clients: Clients, source: RuntimeSource, group: str, session_id: str, calls: Sequence[TracedCall]
) -> dict[int, bool | None]:
    from loomlib.aws.logs import filter_events, first_event_ms

    spans = {call.invocation_id: _interval_ms(call) for call in calls}
    lines = filter_events(
        clients,
        group,
        region=source.region,
        term=session_id,
        start_ms=min(start for start, _ in spans.values()),
        end_ms=max(end for _, end in spans.values()),
    )
    lines = [line for line in lines if line.stream != MESSAGES_STREAM]
    births = {
        stream: first_event_ms(clients, group, stream, region=source.region)
        for stream in {each.stream for each in lines}
    }
    found: dict[int, bool | None] = {}
    for call in calls:
        start, end = spans[call.invocation_id]
        known = [birth for line in lines if start <= line.timestamp_ms <= end and (birth := births[line.stream])]
        found[call.invocation_id] = max(known) >= start if known else None
    return found


def _interval_ms(call: TracedCall) -> tuple[int, int]:
    sent_s = call.sent_s or 0.0
    done_s = call.done_s if call.done_s is not None else sent_s
    return int(sent_s * 1000), int(done_s * 1000) + _AFTER_MS
