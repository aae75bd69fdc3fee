"""Reading the records of spans and messages from CloudWatch Logs, where AgentCore stores telemetry."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import AccessDeniedError, RequestTimeoutError, ResourceNotFoundError
from loomlib.json_values import as_mapping, as_text, parse_object

from .sources import RuntimeSource
from .traces.identifiers import normal_id

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.aws.logs import StoredEvent

SPANS_GROUP: Final = "aws/spans"
"""The log group of all spans of an account and region (CloudWatch Transaction Search)."""

MESSAGES_STREAM: Final = "otel-rt-logs"
"""The stream in a runtime's own group with the OpenTelemetry log records and metrics of all its processes."""

_LINES_STREAM: Final = "[runtime-logs"  # followed by `]`, or by `-<session id>]`
_MAX_PAGES: Final = 60
_NON_WORD: Final = re.compile(r"[^\w-]")

_NOTICE_PREFIX: Final = "Loom: session "
"""How the lines of the local service and its exporter about a session's spans begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One stored record.

    Attributes:
        trace_id: Lower-case hex.
        session_id: The runtime session, "" when it has none.
        text: The record as stored.
        document: The record parsed.
    """

    trace_id: str
    session_id: str
    text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)


class SpanReader:
    """Reads records of spans and messages through one connection, each agent's in its own region.

    Only one quoted term is sent to CloudWatch; the records' own fields decide which of them belong together.

    Args:
        clients: The AWS clients of a connection.
    """

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def spans(
        self, source: RuntimeSource, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """Return the span records that contain a term, by time.

        The group has the spans of a whole account. Where it is too large to page through, Logs Insights is queried,
        which scans all of it at once (and is charged by the data scanned).

        Args:
            source: The agent's runtime.
            term: The text to search for; None for all records.
            start_ms: Start of the range, Unix milliseconds.
            end_ms: End of the range; None for now.

        Raises:
            ResourceNotFoundError: There is no `aws/spans`.
        """
        from loomlib.aws.logs import TOO_MANY_PAGES

        try:
            return _records(
                event.message for event in self._read(source, SPANS_GROUP, term, start_ms, end_ms, None, _MAX_PAGES)
            )
        except RequestTimeoutError as error:
            if error.code != TOO_MANY_PAGES or not term:
                raise
        return _records(self._query(source, SPANS_GROUP, term, start_ms, end_ms))

    def messages(
        self, source: RuntimeSource, qualifier: str, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """Return the message records that contain a term; none where the endpoint has no log group.

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
            term: The text to search for; None reads all of the stream of messages.
            start_ms: Start of the range, Unix milliseconds.
            end_ms: End of the range; None for now.
        """
        streams = None if term else [MESSAGES_STREAM]
        try:
            events = self._read(source, source.log_group(qualifier), term, start_ms, end_ms, streams)
        except ResourceNotFoundError:
            return ()
        return _records(event.message for event in events if _LINES_STREAM not in event.stream)

    def has_group(self, source: RuntimeSource, qualifier: str) -> bool:
        """Return whether the endpoint has a log group, as it does once it has run; True where listing is not permitted.

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
        """
        from loomlib.aws.logs import group_exists

        try:
            return group_exists(self._clients, source.log_group(qualifier), region=source.region)
        except AccessDeniedError:
            return True

    def notices(
        self, source: RuntimeSource, qualifier: str, *, start_s: float, end_s: float, export_status: bool = False
    ) -> list[tuple[float, str]]:
        """Return the local service's lines about exporting spans, as (Unix seconds, text).

        Args:
            source: The agent's runtime.
            qualifier: The endpoint.
            start_s: Start of the range, Unix seconds.
            end_s: End of the range, Unix seconds.
            export_status: Read instead the lines in the message stream on whether processes create spans at all.
        """
        start_ms, end_ms = int(start_s * 1000), int(end_s * 1000) + 1
        streams = [MESSAGES_STREAM] if export_status else None
        try:
            events = self._read(source, source.log_group(qualifier), _NOTICE_PREFIX, start_ms, end_ms, streams)
        except ResourceNotFoundError:
            return []
        return [
            (event.timestamp_ms / 1000, event.message)
            for event in events
            if export_status or _LINES_STREAM in event.stream
        ]

    def _read(
        self,
        source: RuntimeSource,
        group: str,
        term: str | None,
        start_ms: int,
        end_ms: int | None,
        streams: Sequence[str] | None,
        max_pages: int | None = None,
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
            most_pages=max_pages,
        )

    def _query(self, source: RuntimeSource, group: str, term: str, start_ms: int, end_ms: int | None) -> Sequence[str]:
        from loomlib.aws.insights import LARGEST_RESULT, run_query

        now_s = int(time.time())
        result = run_query(
            self._clients,
            [group],
            f"fields @message | filter @message like /{_NON_WORD.sub('.', term)}/ | sort @timestamp asc"
            f" | limit {LARGEST_RESULT}",
            start_s=start_ms // 1000,
            end_s=now_s if end_ms is None else min(now_s, end_ms // 1000 + 1),
            region=source.region,
        )
        texts = [row.get("@message", "") for row in result.rows]
        return [text for text in texts if term in text]


def _records(texts: Iterable[str]) -> list[SpanRecord]:
    """Return the texts that are JSON objects with a trace id, each once."""
    records: dict[str, SpanRecord] = {}
    for text in texts:
        if text in records:
            continue
        document = parse_object(text) if text.lstrip().startswith("{") else {}
        trace_id = normal_id(document.get("traceId") or document.get("trace_id"))
        if trace_id:
            session_id = as_text(as_mapping(document.get("attributes")).get("session.id"))
            records[text] = SpanRecord(trace_id=trace_id, session_id=session_id, text=text, document=document)
    return list(records.values())
