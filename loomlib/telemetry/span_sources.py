"""Span sources other than CloudWatch: a plugin's source is read invocation by invocation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

from loomlib.errors import PluginError

from .sources import RuntimeSource
from .span_lookup import RecordsByRequest, lookup_spans
from .span_records import SpanReader, SpanRecord
from .trace_lookup import TraceRequest

SpanDocument: TypeAlias = str | bytes | Mapping[str, Any]
"""JSON, as text or parsed, in a form that `read_spans` reads: an OTLP export, or one span."""


class SpanSource(Protocol):
    """The type that a factory of the hook `loom_span_sources` returns.

    It is called with a request (`request.trace_id`, `request.session_id`, and `request.sent_s` to `request.done_s` in
    Unix seconds) and returns the spans available now. While they are incomplete it is called again, until the
    deadline.
    """

    def __call__(self, request: TraceRequest, /) -> Iterable[SpanDocument]:
        """Return the spans of an invocation that are available now."""
        ...


class CloudWatchSpans:
    """CloudWatch Logs as a span source: many invocations in one query, and those it lacks one by one."""

    @staticmethod
    def look(
        reader: SpanReader, source: RuntimeSource, requests: Sequence[TraceRequest], late: Set[int]
    ) -> RecordsByRequest:
        """Look up the records of invocations once.

        Args:
            reader: Reads the logs.
            source: The agent's runtime.
            requests: The invocations.
            late: The ids of invocations whose spans should have arrived by now.
        """
        return lookup_spans(reader, source, requests, late)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """A span source with its name.

    Attributes:
        name: The name it is registered by.
        read: The source.
    """

    name: str
    read: SpanSource = field(repr=False)

    def look(self, requests: Sequence[TraceRequest]) -> RecordsByRequest:
        """Look up the records of invocations once.

        Raises:
            PluginError: The source failed or returned something other than JSON objects.
        """
        records = RecordsByRequest()
        for request in requests:
            try:
                records.add(request, [_record(document) for document in self.read(request)])
            except Exception as error:  # foreign code may raise anything
                raise PluginError(
                    f"The span source {self.name!r} failed: {type(error).__name__}: {error}",
                    on=f"session {request.session_id}",
                    try_="inv.trace() without this source",
                ) from error
        return records


def _record(raw: SpanDocument) -> SpanRecord:
    document: object = json.loads(raw) if isinstance(raw, str | bytes) else raw
    if not isinstance(document, Mapping):
        raise TypeError(f"expected a JSON object, not {type(document).__name__}")
    fields = cast("Mapping[str, Any]", document)
    return SpanRecord(trace_id="", session_id="", text=json.dumps(fields), document=fields)
