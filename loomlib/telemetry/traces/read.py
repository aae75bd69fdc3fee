"""Spans and log records out of whatever they come in.

Understood: OTLP JSON (ids in hex or base64; one export, a list or JSON lines of them), OTLP protobuf, the records of
`aws/spans` and `otel-rt-logs`, the events of FilterLogEvents and the rows of Logs Insights that carry these records,
the SDK's `to_json`, and live spans of an in-memory exporter. Metrics, EMF and plain log lines that lie among them are
counted and left alone. Nothing here raises on bad data: what cannot be read is a `Problem`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from .protobuf import decode_export
from .records import live_span, log_record, otlp_span, sdk_span, stored_span
from .shared import Shared
from .span import LogRecord, Span
from .values import as_list, as_mapping, attributes_of

_MOST_PROBLEMS = 200
_DEEPEST = 12
_DECODER = json.JSONDecoder()
_AROUND = frozenset({"resourceSpans", "resourceLogs", "resource_spans", "resource_logs"})
_BAD = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that could not be read: `where` in the document, and `what` was wrong with it."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanBatch:
    """What a document held. `others` counts what is neither span nor log record: `metrics`, `emf`, `text` and so on.

    At most 200 problems are told one by one; `problem_count` has them all.
    """

    spans: tuple[Span, ...]
    log_records: tuple[LogRecord, ...]
    problems: tuple[Problem, ...]
    problem_count: int
    others: Mapping[str, int]


def read_spans(document: object) -> SpanBatch:
    """The spans and log records of `document`, in their order.

    `document` is bytes, text, a mapping, a live span, or a sequence or iterator of any of these (an open binary file of
    JSON lines is read line by line, without holding the file).
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
        self.problems: list[Problem] = []
        self.problem_count = 0
        self.others: Counter[str] = Counter()
        self.shared = Shared()

    def take(self, document: object, where: str, depth: int) -> None:
        if depth > _DEEPEST:
            return self.problem(where, "nested too deeply")
        if isinstance(document, bytes | bytearray):
            return self.raw(bytes(document), where, depth)
        if isinstance(document, str):
            return self.text(document, where, depth)
        if isinstance(document, Span):
            return self.keep(document, where)
        if isinstance(document, LogRecord):
            return self.logs.append(document)
        try:
            found = as_mapping(document)
            if found is not None:
                return self.mapping(found, where, depth)
            if hasattr(document, "context") and hasattr(document, "start_time"):
                return self.keep(live_span(document), where)
            raw = getattr(document, "raw", None)
            if isinstance(raw, str):  # a LogEvent
                return self.text(raw, where, depth + 1)
        except _BAD as error:
            return self.problem(where, f"{type(error).__name__}: {error}")
        if isinstance(document, Iterable):
            for place, each in enumerate(cast("Iterable[object]", document)):
                if not self.is_record(each):
                    self.take(each, f"{where}[{place}]", depth + 1)
            return None
        return self.problem(where, f"a {type(document).__name__} is no form of spans")

    def is_record(self, each: object) -> bool:
        """Takes what is one span record as a line of JSON, as a million of them come; everything else is not taken."""
        if type(each) is not bytes and type(each) is not str:
            return False
        try:
            text = each.decode() if type(each) is bytes else cast("str", each)
            raw = _DECODER.decode(text)
            if type(raw) is not dict or "startTimeUnixNano" not in raw or _AROUND.intersection(cast("Any", raw)):
                return False
            span = stored_span(cast("Mapping[str, Any]", raw), self.shared)
        except _BAD:
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
        try:
            return self.take(decode_export(data), where, depth + 1)
        except _BAD as error:
            if text is not None:
                return self.text(text, where, depth)
            return self.problem(where, f"neither UTF-8 nor an OTLP export: {error}")

    def text(self, text: str, where: str, depth: int) -> None:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            lines = text.splitlines()
            if len(lines) > 1:
                for place, line in enumerate(lines, 1):
                    self.line(line, f"{where}, line {place}", depth + 1)
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
            self.problem(where, f"broken JSON: {error}")
        elif line.strip():
            self.others["text"] += 1

    def mapping(self, raw: Mapping[str, Any], where: str, depth: int) -> None:
        if not _AROUND.isdisjoint(raw):
            return self.otlp(raw, where)
        if "startTimeUnixNano" in raw or "endTimeUnixNano" in raw or "start_time_unix_nano" in raw:
            return self.keep(stored_span(raw, self.shared), where)
        if "context" in raw and "start_time" in raw:
            return self.keep(sdk_span(raw), where)
        if "_aws" in raw:
            self.others["emf"] += 1
        elif "resourceMetrics" in raw or "resource_metrics" in raw or "total_cycles" in raw:
            self.others["metrics"] += 1
        elif "body" in raw and ("traceId" in raw or "trace_id" in raw or "timeUnixNano" in raw or "timestamp" in raw):
            self.logs.append(log_record(raw))
        elif "spanId" in raw and "traceId" in raw:
            self.keep(stored_span(raw, self.shared), where)
        else:
            self.envelope(raw, where, depth)
        return None

    def envelope(self, raw: Mapping[str, Any], where: str, depth: int) -> None:
        """What CloudWatch wraps records in: pages of events, rows of queries, single events."""
        for name in ("events", "results"):
            if isinstance(raw.get(name), list):
                for place, each in enumerate(as_list(raw[name])):
                    self.take(each, f"{where}.{name}[{place}]", depth + 1)
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
        return self.problem(where, f"no known form of spans: {', '.join(map(str, list(raw)[:6]))[:200]}")

    def otlp(self, raw: Mapping[str, Any], where: str) -> None:
        for around in as_list(raw.get("resourceSpans") or raw.get("resource_spans")):
            for resource, scope, inner in self.scopes(around, ("scopeSpans", "scope_spans"), where):
                for span in as_list(inner.get("spans")):
                    try:
                        self.keep(otlp_span(span, resource, scope), where)
                    except _BAD as error:
                        self.problem(where, f"a span that is none: {type(error).__name__}: {error}")
        for around in as_list(raw.get("resourceLogs") or raw.get("resource_logs")):
            for resource, scope, inner in self.scopes(around, ("scopeLogs", "scope_logs"), where):
                for record in as_list(inner.get("logRecords") or inner.get("log_records")):
                    try:
                        self.logs.append(log_record(record, resource, scope))
                    except _BAD as error:
                        self.problem(where, f"a log record that is none: {type(error).__name__}: {error}")

    def scopes(
        self, around: object, names: tuple[str, str], where: str
    ) -> Iterable[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
        outer = as_mapping(around)
        if outer is None:
            self.problem(where, "a resource that is no object")
            return
        resource = attributes_of((as_mapping(outer.get("resource")) or {}).get("attributes"))
        for inner in as_list(outer.get(names[0]) or outer.get(names[1])):
            found = as_mapping(inner)
            if found is None:
                self.problem(where, "a scope that is no object")
                continue
            yield resource, str((as_mapping(found.get("scope")) or {}).get("name") or ""), found

    def keep(self, span: Span, where: str) -> None:
        if not span.span_id or not span.trace_id:
            self.problem(where, "a span without an id")
            if not span.span_id:
                span = replace(span, span_id=f"no-id-{len(self.spans)}", marks=span.marks | {"no_id"})
        self.spans.append(span)

    def problem(self, where: str, what: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(where=where, what=what[:500]))
