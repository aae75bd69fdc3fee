"""Reading the records of spans and messages out of CloudWatch Logs, where AgentCore's telemetry ends."""

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
"""The group of all spans of an account and region (CloudWatch's Transaction Search)."""

MESSAGES_STREAM: Final = "otel-rt-logs"
"""The stream, in a runtime's own group, of all its processes' OpenTelemetry log records and metrics."""

_LINES_STREAM: Final = "[runtime-logs]"
_MOST_PAGES: Final = 60
_NO_WORD: Final = re.compile(r"[^\w-]")

_WORDS: Final = "Loom: session "
"""How what the local service and its exporter say about a session's spans begins."""


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
        self, source: RuntimeSource, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """The span records that contain `term`, by time. Raises `ResourceNotFoundError` when there is no `aws/spans`.

        The group holds the spans of a whole account. Where it is too large to be paged through, Logs Insights is asked,
        which looks at all of it at once (and is charged by the data that it scans).
        """
        from loomlib.aws.logs import TOO_MANY_PAGES

        try:
            return _records(
                event.message for event in self._read(source, SPANS_GROUP, term, start_ms, end_ms, None, _MOST_PAGES)
            )
        except RequestTimeoutError as error:
            if error.code != TOO_MANY_PAGES or not term:
                raise
        return _records(self._ask(source, SPANS_GROUP, term, start_ms, end_ms))

    def messages(
        self, source: RuntimeSource, qualifier: str, *, term: str | None, start_ms: int, end_ms: int | None
    ) -> Sequence[SpanRecord]:
        """The log records beside the spans: what was said to models and tools. None where there is no such group.

        Without a `term` only the stream that is meant for them is read.
        """
        streams = None if term else [MESSAGES_STREAM]
        try:
            found = self._read(source, source.log_group(qualifier), term, start_ms, end_ms, streams)
        except ResourceNotFoundError:
            return ()
        return _records(event.message for event in found if _LINES_STREAM not in event.stream)

    def has_group(self, source: RuntimeSource, qualifier: str) -> bool:
        """Whether the endpoint has a log group: it has one as soon as it ran.

        Where listing groups is not permitted, nothing says that it has none.
        """
        from loomlib.aws.logs import group_exists

        try:
            return group_exists(self._clients, source.log_group(qualifier), region=source.region)
        except AccessDeniedError:
            return True

    def words(
        self, source: RuntimeSource, qualifier: str, *, start_s: float, end_s: float, habits: bool = False
    ) -> list[tuple[float, str]]:
        """What the local service said about sessions' spans, with when (Unix seconds), in the processes' streams.

        Their habits stand in the stream of messages.
        """
        start_ms, end_ms = int(start_s * 1000), int(end_s * 1000) + 1
        streams = [MESSAGES_STREAM] if habits else None
        try:
            found = self._read(source, source.log_group(qualifier), _WORDS, start_ms, end_ms, streams)
        except ResourceNotFoundError:
            return []
        return [(each.timestamp_ms / 1000, each.message) for each in found if habits or _LINES_STREAM in each.stream]

    def _read(
        self,
        source: RuntimeSource,
        group: str,
        term: str | None,
        start_ms: int,
        end_ms: int | None,
        streams: Sequence[str] | None,
        most_pages: int | None = None,
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
            most_pages=most_pages,
        )

    def _ask(self, source: RuntimeSource, group: str, term: str, start_ms: int, end_ms: int | None) -> Sequence[str]:
        from loomlib.aws.insights import LARGEST_RESULT, run_query

        now_s = int(time.time())
        result = run_query(
            self._clients,
            [group],
            f"fields @message | filter @message like /{_NO_WORD.sub('.', term)}/ | sort @timestamp asc"
            f" | limit {LARGEST_RESULT}",
            start_s=start_ms // 1000,
            end_s=now_s if end_ms is None else min(now_s, end_ms // 1000 + 1),
            region=source.region,
        )
        found = [row.get("@message", "") for row in result.rows]
        return [text for text in found if term in text]


def _records(texts: Iterable[str]) -> list[SpanRecord]:
    """Those that are JSON objects with a trace id, each once."""
    kept: dict[str, SpanRecord] = {}
    for text in texts:
        if text in kept:
            continue
        document = parse_object(text) if text.lstrip().startswith("{") else {}
        trace_id = normal_id(document.get("traceId") or document.get("trace_id"))
        if trace_id:
            kept[text] = SpanRecord(
                trace_id=trace_id,
                session_id=as_text(as_mapping(document.get("attributes")).get("session.id")),
                text=text,
                document=document,
            )
    return list(kept.values())
