"""Reading the records of spans and messages out of CloudWatch Logs, where AgentCore's telemetry ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from loomlib.errors import ResourceNotFound

from .traces.identifiers import normal_id

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.logs import StoredEvent

SPANS_GROUP: Final = "aws/spans"
"""The group of all spans of an account and region (CloudWatch's Transaction Search)."""

MESSAGES_STREAM: Final = "otel-rt-logs"
"""The stream, in a runtime's own group, of all its processes' OpenTelemetry log records and metrics."""

_LINES_STREAM: Final = "[runtime-logs]"

_LOST: Final = "spans were not exported"
"""What the local service's exporter writes, with the reason, when its requests were not taken."""


class TraceSource(Protocol):
    """Whose traces: a runtime's ARN or a catalog entry."""

    @property
    def region(self) -> str: ...

    @property
    def runtime_id(self) -> str: ...

    def log_group(self, qualifier: str = "DEFAULT") -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One record as it is stored (`text`), taken apart (`document`); ids as lower-case hex, "" where it has none."""

    trace_id: str
    session_id: str
    text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)


class SpanReader:
    """Reads records of spans and messages through one connection, each agent's in its own region.

    CloudWatch gets one quoted term only; what belongs together is decided here, by the records' own fields.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def spans(
        self, source: TraceSource, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """The span records that contain `term`, by time. Raises `ResourceNotFound` when there is no `aws/spans`."""
        return _records(self._read(source, SPANS_GROUP, term, start_ms, end_ms, None))

    def messages(
        self, source: TraceSource, qualifier: str, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """The log records beside the spans: what was said to models and tools. None where there is no such group.

        Without a `term` only the stream that is meant for them is read.
        """
        streams = None if term else [MESSAGES_STREAM]
        try:
            found = self._read(source, source.log_group(qualifier), term, start_ms, end_ms, streams)
        except ResourceNotFound:
            return ()
        return _records(event for event in found if _LINES_STREAM not in event.stream)

    def has_group(self, source: TraceSource, qualifier: str) -> bool:
        """Whether the endpoint has a log group: it has one as soon as it ran."""
        from loomlib.aws.logs import group_exists

        return group_exists(self._clients, source.log_group(qualifier), region=source.region)

    def lost_ms(self, source: TraceSource, qualifier: str, *, start_ms: int, end_ms: int) -> Sequence[int]:
        """When processes of the endpoint wrote that nobody took their spans, in Unix milliseconds."""
        try:
            found = self._read(source, source.log_group(qualifier), _LOST, start_ms, end_ms, None)
        except ResourceNotFound:
            return ()
        return [event.timestamp_ms for event in found if _LINES_STREAM in event.stream]

    def _read(
        self,
        source: TraceSource,
        group: str,
        term: str | None,
        start_ms: int,
        end_ms: int | None,
        streams: Sequence[str] | None,
    ) -> Sequence[StoredEvent]:
        from loomlib.aws.logs import filter_events

        return filter_events(
            self._clients,
            group,
            region=source.region,
            term=term,
            start_ms=start_ms,
            end_ms=end_ms,
            streams=streams,
        )


def _records(events: Iterable[StoredEvent]) -> list[SpanRecord]:
    """Those that are JSON objects with a trace id, each once."""
    kept: dict[str, SpanRecord] = {}
    for event in events:
        if event.message in kept:
            continue
        document = _document(event.message)
        trace_id = normal_id(document.get("traceId") or document.get("trace_id"))
        if trace_id:
            kept[event.message] = SpanRecord(
                trace_id=trace_id, session_id=_session_id(document), text=event.message, document=document
            )
    return list(kept.values())


def _document(text: str) -> Mapping[str, Any]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _session_id(document: Mapping[str, Any]) -> str:
    attributes: object = document.get("attributes")
    if not isinstance(attributes, dict):
        return ""
    found: object = cast("Mapping[str, object]", attributes).get("session.id")
    return found if isinstance(found, str) else ""
