"""Spans from another place than CloudWatch: a plugin's span source, asked call by call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

from loomlib.errors import PluginError

from .sources import RuntimeSource
from .span_lookup import Findings, look
from .span_records import SpanReader, SpanRecord
from .trace_lookup import TracedCall

SpanDocument: TypeAlias = str | bytes | Mapping[str, Any]
"""JSON, as text or read already, in a form that `read_spans` knows: an OTLP export, or one span."""


class SpanSource(Protocol):
    """What a factory of the hook `loom_span_sources` returns.

    It is given a call (`call.trace_id`, `call.session_id`, and `call.sent_s` to `call.done_s` in Unix seconds) and
    returns what there is of its spans now. While they are not whole it is asked again, until the deadline.
    """

    def __call__(self, call: TracedCall, /) -> Iterable[SpanDocument]: ...


class CloudWatchSpans:
    """Where AgentCore keeps spans: many calls are looked for in one query, and those it lacks one by one."""

    @staticmethod
    def look(reader: SpanReader, source: RuntimeSource, calls: Sequence[TracedCall], late: Set[int]) -> Findings:
        """What is there now of each of these calls; `late` are those whose spans had all the time they need."""
        return look(reader, source, calls, late)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    """A span source and the name it goes by."""

    name: str
    read: SpanSource = field(repr=False)

    def look(self, calls: Sequence[TracedCall]) -> Findings:
        """What it has of each call now. Raises `PluginError` when it fails or gives what is no JSON object."""
        findings = Findings()
        for call in calls:
            try:
                findings.add(call, [_record(each) for each in self.read(call)])
            except Exception as error:  # foreign code may raise anything
                raise PluginError(
                    f"The span source {self.name!r} failed: {type(error).__name__}: {error}",
                    on=f"session {call.session_id}",
                    try_="asking without it: inv.trace()",
                ) from error
        return findings


def _record(given: SpanDocument) -> SpanRecord:
    document: object = json.loads(given) if isinstance(given, str | bytes) else given
    if not isinstance(document, Mapping):
        raise TypeError(f"a JSON object was expected, not {type(document).__name__}")
    known = cast("Mapping[str, Any]", document)
    return SpanRecord(trace_id="", session_id="", text=json.dumps(known), document=known)
