"""Read spans and log records in any supported form.

Supported: OTLP JSON (ids in hex or base64; one export, a list or JSON lines of them), OTLP protobuf, the records of
`aws/spans` and `otel-rt-logs`, the events of FilterLogEvents and the rows of Logs Insights that carry these records,
the SDK's `to_json`, and live spans of an in-memory exporter. Metrics, EMF and plain log lines among them are counted
and skipped. Bad data does not raise errors: what cannot be read becomes a `ReadProblem`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from loomlib.json_values import as_list, as_mapping, mapping_or_none

from .any_values import attributes_of
from .interning import InternPool
from .span import LogRecord, Span
from .span_decoding import live_span, log_record, otlp_span, sdk_span, stored_span

_MAX_PROBLEMS = 200
_MAX_DEPTH = 12
_DECODER = json.JSONDecoder()
_JSON_SPACE = " \t\r\n"
_EXPORT_KEYS = frozenset({"resourceSpans", "resourceLogs", "resource_spans", "resource_logs"})
_DATA_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadProblem:
    """A line or record that could not be read.

    Attributes:
        where: Its place in the document.
        what: What is wrong with it.
    """

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanBatch:
    """The spans and log records of a document.

    Attributes:
        spans: The spans in document order.
        log_records: The log records in document order.
        problems: What could not be read; the first 200 in detail.
        problem_count: The number of all problems.
        others: Counts of what is neither span nor log record: `metrics`, `emf`, `text`.
    """

    spans: tuple[Span, ...]
    log_records: tuple[LogRecord, ...]
    problems: tuple[ReadProblem, ...]
    problem_count: int
    others: Mapping[str, int]


def read_spans(document: object) -> SpanBatch:
    """Read the spans and log records of a document, in their order.

    Args:
        document: Bytes, text, a mapping, a live span, or a sequence or iterator of these. An open binary file of JSON
            lines is read line by line, so it may be larger than memory.

    Returns:
        Spans, log records, and what could not be read.

    Examples:
        >>> with open("spans.jsonl", "rb") as lines:
        ...     batch = read_spans(lines)
    """
    reader = _Reader()
    reader.take(document, "document", 0)
    return SpanBatch(
        spans=tuple(reader.spans),
        log_records=tuple(reader.logs),
        problems=tuple(reader.problems),
        problem_count=reader.problem_count,
        others=dict(reader.others),
    )


class _Reader:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.problems: list[ReadProblem] = []
        self.problem_count = 0
        self.others: Counter[str] = Counter()
        self.pool = InternPool()

    def take(self, document: object, where: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            return self.problem(where, "nested too deeply")
        if isinstance(document, bytes | bytearray):
            return self.raw(bytes(document), where, depth)
        if isinstance(document, str):
            return self.text(document, where, depth)
        if isinstance(document, Span):
            return self.add(document, where)
        if isinstance(document, LogRecord):
            return self.logs.append(document)
        try:
            fields = mapping_or_none(document)
            if fields is not None:
                return self.mapping(fields, where, depth)
            if hasattr(document, "context") and hasattr(document, "start_time"):
                return self.add(live_span(document), where)
            raw = getattr(document, "raw", None)
            if isinstance(raw, str):  # a LogEvent
                return self.text(raw, where, depth + 1)
        except _DATA_ERRORS as error:
            return self.problem(where, f"{type(error).__name__}: {error}")
        if isinstance(document, Iterable):
            for index, item in enumerate(cast("Iterable[object]", document)):
                if not self.take_record(item):
                    self.take(item, f"{where}[{index}]", depth + 1)
            return None
        return self.problem(where, f"cannot read spans from {type(document).__name__}")

    def take_record(self, line: object) -> bool:
        """Read a span record in a line of JSON, the common case; return False for anything else."""
        if type(line) is not bytes and type(line) is not str:
            return False
        try:
            text = line.decode() if type(line) is bytes else cast("str", line)
            raw, end = _DECODER.raw_decode(text)
            if text[end:].strip(_JSON_SPACE) or type(raw) is not dict or "startTimeUnixNano" not in raw:
                return False
            if not _EXPORT_KEYS.isdisjoint(cast("Any", raw)):
                return False
            span = stored_span(cast("Mapping[str, Any]", raw), self.pool)
        except _DATA_ERRORS:
            return False
        if not span.span_id or not span.trace_id:
            return False
        self.spans.append(span)
        return True

    def raw(self, data: bytes, where: str, depth: int) -> None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = None
        first = data[:64].lstrip()[:1]
        if text is not None and (first in (b"{", b"[") or not data.strip()):
            return self.text(text, where, depth)
        from .protobuf import decode_export

        try:
            return self.take(decode_export(data), where, depth + 1)
        except _DATA_ERRORS as error:
            if text is not None:
                return self.text(text, where, depth)
            return self.problem(where, f"neither UTF-8 text nor an OTLP export: {error}")

    def text(self, text: str, where: str, depth: int) -> None:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            lines = text.rstrip().split("\n")  # the other line ends of `splitlines` may occur in JSON strings
            if len(lines) > 1:
                for number, line in enumerate(lines, 1):
                    self.line(line, f"{where}, line {number}", depth + 1)
                return None
            return self.odd_line(text, where, error)
        if isinstance(value, dict | list):
            return self.take(cast("object", value), where, depth + 1)
        self.others["text"] += 1
        return None

    def line(self, line: str, where: str, depth: int) -> None:
        if not line.strip():
            return None
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            return self.odd_line(line, where, error)
        if isinstance(value, dict | list):
            return self.take(cast("object", value), where, depth)
        self.others["text"] += 1
        return None

    def odd_line(self, line: str, where: str, error: Exception) -> None:
        if line.lstrip()[:1] in ("{", "["):
            self.problem(where, f"invalid JSON: {error}")
        elif line.strip():
            self.others["text"] += 1

    def mapping(self, raw: Mapping[str, Any], where: str, depth: int) -> None:
        if not _EXPORT_KEYS.isdisjoint(raw):
            return self.otlp(raw, where)
        if "startTimeUnixNano" in raw or "endTimeUnixNano" in raw or "start_time_unix_nano" in raw:
            return self.add(stored_span(raw, self.pool), where)
        if "context" in raw and "start_time" in raw:
            return self.add(sdk_span(raw), where)
        if "_aws" in raw:
            self.others["emf"] += 1
        elif "resourceMetrics" in raw or "resource_metrics" in raw or "total_cycles" in raw:
            self.others["metrics"] += 1
        elif "body" in raw and ("traceId" in raw or "trace_id" in raw or "timeUnixNano" in raw or "timestamp" in raw):
            self.logs.append(log_record(raw))
        elif "spanId" in raw and "traceId" in raw:
            self.add(stored_span(raw, self.pool), where)
        else:
            self.envelope(raw, where, depth)
        return None

    def envelope(self, raw: Mapping[str, Any], where: str, depth: int) -> None:
        """Unwrap CloudWatch's envelopes: pages of events, rows of queries, single events."""
        for name in ("events", "results"):
            if isinstance(raw.get(name), list):
                for index, item in enumerate(as_list(raw[name])):
                    self.take(item, f"{where}.{name}[{index}]", depth + 1)
                return None
        message = raw.get("message", raw.get("@message"))
        if isinstance(message, str) and message.lstrip()[:1] in ("{", "["):
            return self.take(message, f"{where}.message", depth + 1)
        if isinstance(message, dict):
            return self.take(cast("object", message), f"{where}.message", depth + 1)
        if "message" in raw or "@message" in raw:
            self.others["text"] += 1
            return None
        if "field" in raw and "value" in raw:
            if raw["field"] == "@message":
                return self.take(raw["value"], where, depth + 1)
            return None
        return self.problem(where, f"unknown record format with keys {', '.join(map(str, list(raw)[:6]))[:200]}")

    def otlp(self, raw: Mapping[str, Any], where: str) -> None:
        for group in as_list(raw.get("resourceSpans") or raw.get("resource_spans")):
            for resource, scope, inner in self.scopes(group, ("scopeSpans", "scope_spans"), where):
                for span in as_list(inner.get("spans")):
                    try:
                        self.add(otlp_span(span, resource, scope), where)
                    except _DATA_ERRORS as error:
                        self.problem(where, f"malformed span: {type(error).__name__}: {error}")
        for group in as_list(raw.get("resourceLogs") or raw.get("resource_logs")):
            for resource, scope, inner in self.scopes(group, ("scopeLogs", "scope_logs"), where):
                for record in as_list(inner.get("logRecords") or inner.get("log_records")):
                    try:
                        self.logs.append(log_record(record, resource, scope))
                    except _DATA_ERRORS as error:
                        self.problem(where, f"malformed log record: {type(error).__name__}: {error}")

    def scopes(
        self, group: object, names: tuple[str, str], where: str
    ) -> Iterable[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
        outer = mapping_or_none(group)
        if outer is None:
            self.problem(where, "a resource is not an object")
            return
        resource = attributes_of(as_mapping(outer.get("resource")).get("attributes"))
        for inner in as_list(outer.get(names[0]) or outer.get(names[1])):
            fields = mapping_or_none(inner)
            if fields is None:
                self.problem(where, "a scope is not an object")
                continue
            yield resource, str(as_mapping(fields.get("scope")).get("name") or ""), fields

    def add(self, span: Span, where: str) -> None:
        if not span.span_id or not span.trace_id:
            self.problem(where, "a span without an id")
            if not span.span_id:
                span = replace(span, span_id=f"no-id-{len(self.spans)}", marks=span.marks | {"no_id"})
        self.spans.append(span)

    def problem(self, where: str, message: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(ReadProblem(where=where, what=message[:500]))
