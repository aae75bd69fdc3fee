"""What the local AgentCore logs about exporting spans, read when spans are missing.

AWS does not log this; there, only waiting shows that a span is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from .sources import RuntimeSource
from .span_records import SpanReader
from .trace_lookup import TraceRequest

GIVEN_UP_S: Final = 20.0
"""Seconds after which the local exporter has given up on a request: three attempts of five seconds at most."""

_MAX_SESSION_S: Final = 28_800.0
_LOST: Final = "spans were not exported"
_DIED: Final = "what it had not exported by then is lost"
_EXPORTS_NOTHING: Final = "makes no spans"
_EXPORTS_NOW: Final = "makes spans now"

ExportProblem = Literal["silent", "lost", "died"]
"""Why spans are missing: "silent", the process creates none; "lost", they could not be exported; "died", the process
ended before it had exported them."""


@dataclass(frozen=True, slots=True)
class ExportNotices:
    """Log lines about exporting spans as (Unix seconds, text), by time."""

    lines: Sequence[tuple[float, str]]

    def problem_of(self, request: TraceRequest) -> ExportProblem | None:
        """Return why an invocation's spans are missing; None when no notice explains it."""
        if request.sent_s is None:
            return None
        own = [(at_s, text) for at_s, text in self.lines if f"Loom: session {request.session_id}: " in text]
        until_s = (request.sent_s if request.done_s is None else request.done_s) + GIVEN_UP_S
        during = [text for at_s, text in own if request.sent_s <= at_s <= until_s]
        if any(_LOST in text for text in during):
            return "lost"
        statuses = [text for _, text in own if _EXPORTS_NOTHING in text or _EXPORTS_NOW in text]
        if statuses and _EXPORTS_NOTHING in statuses[-1]:
            return "silent"
        return "died" if any(_DIED in text for text in during) else None


def read_notices(
    reader: SpanReader,
    source: RuntimeSource,
    requests: Sequence[TraceRequest],
    *,
    now_s: float,
    with_export_status: bool,
) -> ExportNotices:
    """Read the notices about the requests' sessions up to now.

    Args:
        reader: Reads the log.
        source: The agent's runtime.
        requests: The invocations whose spans are missing.
        now_s: The current time in Unix seconds.
        with_export_status: Whether to read also what each process logged once, in its first invocation: whether it
            creates spans at all.
    """
    start_s = min([now_s, *(request.sent_s for request in requests if request.sent_s is not None)])
    lines: list[tuple[float, str]] = []
    for qualifier in sorted({request.qualifier for request in requests}):
        lines += reader.notices(source, qualifier, start_s=start_s, end_s=now_s)
        if with_export_status:
            earliest_s = start_s - _MAX_SESSION_S
            lines += reader.notices(source, qualifier, start_s=earliest_s, end_s=now_s, export_status=True)
    return ExportNotices(sorted(lines, key=lambda line: line[0]))
