"""Records of decoded telemetry in the forms in which AWS stores it, with their log groups and search keys."""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from .clipping import fits, log_form
from .documents import Decoded, Signal
from .emf import EmfLines
from .messages import split_messages

SPANS_GROUP, SPANS_STREAM = "aws/spans", "default"
OTEL_STREAM = "otel-rt-logs"
SESSION = "session.id"
_GROUPS_ATTRIBUTE = "aws.log.group.names"
_GROUP_NAME = re.compile(r"(?:\d{12}:[a-z0-9-]{1,32}:)?[\w./#-]{1,512}\Z", re.ASCII)
_STREAM_NAME = re.compile(r"[^:*]{1,512}\Z")
_REMEMBERED_TRACES = 50_000
_LONGEST_KEY = 1_024  # characters of a session id that records are searched by; AgentCore's have at most 256


class Record(NamedTuple):
    """A log event; `whole` is the record's full text if it is too long for a log event."""

    group: str
    stream: str
    timestamp_ms: int
    trace_id: str
    session_id: str
    linked: tuple[str, ...]
    message: str
    whole: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The sender of a request: its session id and its runtime's log group, each "" if unknown."""

    session_id: str = ""
    group: str = ""
    stream: str = ""
    namespace: str = ""


class Recorder:
    """Builds records; it remembers each trace's session for records that do not name theirs."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, str] = OrderedDict()
        self._emf = EmfLines()

    def record(self, decoded: Decoded, signal: Signal, origin: Origin) -> tuple[list[Record], list[str]]:
        """Build the records of a request.

        Args:
            decoded: The request.
            signal: "traces", "logs" or "metrics".
            origin: Who sent it: session and log groups.

        Returns:
            The records, and a reason for each refused one.
        """
        if signal == "traces":
            return self._spans(decoded, origin)
        if signal == "logs":
            return self._logs(decoded, origin)
        return self._metrics(decoded, origin)

    def _spans(self, decoded: Decoded, origin: Origin) -> tuple[list[Record], list[str]]:
        for group in decoded.groups:
            for span in group.records:
                self._learn(span["traceId"], span["attributes"].get(SESSION))
        records: list[Record] = []
        refused = list(decoded.refused)
        now_ms = int(time.time() * 1000)
        for group in decoded.groups:
            head = _head(group.resource, group.scope)
            runtime_group = _runtime_group(group.resource, origin)
            place, is_elsewhere, _ = runtime_group.rpartition(":")
            spans_group = place + is_elsewhere + SPANS_GROUP
            for span in group.records:
                session_id = self._join(span["attributes"], span["traceId"], origin)
                moment_ms = span["endTimeUnixNano"] // 1_000_000 or now_ms
                span_records: list[Record] = []
                try:
                    messages = split_messages(span, str(group.scope["name"]), session_id) if runtime_group else None
                    if messages is not None:
                        place = (runtime_group, OTEL_STREAM)
                        span_records.append(_record(place, moment_ms, messages, head, session_id))
                    span_records.append(_record((spans_group, SPANS_STREAM), moment_ms, span, head, session_id))
                except Exception as error:  # noqa: BLE001 - one sender's span must not cost the others
                    refused.append(f"{type(error).__name__}: {error}")
                else:
                    records += span_records
        return records, refused

    def _logs(self, decoded: Decoded, origin: Origin) -> tuple[list[Record], list[str]]:
        records: list[Record] = []
        refused = list(decoded.refused)
        now_ms = int(time.time() * 1000)
        for group in decoded.groups:
            place = _place(group.resource, origin)
            if place is None:
                refused += [_NO_GROUP] * len(group.records)
                continue
            head = _head(group.resource, group.scope)
            for record in group.records:
                session_id = self._join(record["attributes"], record["traceId"], origin)
                moment_ms = (record["timeUnixNano"] or record["observedTimeUnixNano"]) // 1_000_000 or now_ms
                try:
                    records.append(_record(place, moment_ms, record, head, session_id))
                except Exception as error:  # noqa: BLE001 - one sender's record must not cost the others
                    refused.append(f"{type(error).__name__}: {error}")
        return records, refused

    def _metrics(self, decoded: Decoded, origin: Origin) -> tuple[list[Record], list[str]]:
        records: list[Record] = []
        refused = list(decoded.refused)
        for group in decoded.groups:
            place = _place(group.resource, origin)
            if place is None:
                refused += [_NO_GROUP] * len(group.records)
                continue
            try:
                for moment_ms, line in self._emf.lines(group, origin.namespace):
                    text = dump(line)
                    message, whole = (text, None) if fits(text) else (log_form(line, dump, text), text)
                    records.append(Record(*place, moment_ms, "", origin.session_id, (), message, whole))
            except Exception as error:  # noqa: BLE001 - one sender's metrics must not cost the others
                refused.append(f"{type(error).__name__}: {error}")
        return records, refused

    def _learn(self, trace_id: str, session_id: object) -> None:
        if isinstance(session_id, str) and session_id:
            self._sessions[trace_id] = session_id[:_LONGEST_KEY]
            self._sessions.move_to_end(trace_id)
            if len(self._sessions) > _REMEMBERED_TRACES:
                self._sessions.popitem(last=False)

    def _join(self, attributes: dict[str, Any], trace_id: str, origin: Origin) -> str:
        """Add the session to a record: its own, or its sender's, or that of its trace.

        The sender counts before the trace, because one trace can pass through the sessions of several agents.
        """
        own = attributes.get(SESSION)
        if isinstance(own, str) and own:
            return own[:_LONGEST_KEY]
        session_id = origin.session_id or self._sessions.get(trace_id, "")
        if session_id:
            attributes[SESSION] = session_id
        return session_id


_NO_GROUP = f"no log group is known: send x-aws-log-group, or the resource attribute {_GROUPS_ATTRIBUTE}"


def dump(value: object) -> str:
    """Compact JSON, as AWS writes it: filters such as `"session.id":"…"` depend on it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _head(resource: Mapping[str, Any], scope: Mapping[str, Any]) -> str:
    return f'{{"resource":{dump({"attributes": resource})},"scope":{dump(scope)},'


def _record(place: tuple[str, str], moment_ms: int, record: dict[str, Any], head: str, session_id: str) -> Record:
    text = head + dump(record)[1:]
    trace_id: str = record["traceId"]
    links: Iterable[Mapping[str, Any]] = record.get("links", ())
    linked = tuple({link["traceId"] for link in links} - {trace_id, ""})
    if fits(text):
        return Record(*place, moment_ms, trace_id, session_id, linked, text, None)
    return Record(*place, moment_ms, trace_id, session_id, linked, log_form(json.loads(text), dump, text), text)


def _place(resource: Mapping[str, Any], origin: Origin) -> tuple[str, str] | None:
    group = _runtime_group(resource, origin)
    stream = origin.stream if _STREAM_NAME.match(origin.stream) else OTEL_STREAM
    return (group, stream) if group else None


def _runtime_group(resource: Mapping[str, Any], origin: Origin) -> str:
    group_names = resource.get(_GROUPS_ATTRIBUTE)
    if isinstance(group_names, list):
        group_names = cast("list[object]", group_names)[0] if group_names else ""
    for name in (origin.group, str(group_names or "").split("&")[0].split(",")[0].strip()):
        if _GROUP_NAME.match(name):
            return name
    return ""
