"""Reading the six layers of one stored invocation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from .embedded_metrics import embedded_facts, own_lines
from .layers import Layer, Reading, read_layer
from .logs import LogReader
from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM, SPANS_GROUP
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients
    from loomlib.store import InvocationRow

SERVICE_NAMESPACE: Final = "AWS/Bedrock-AgentCore"
_COMPLETED: Final = re.compile(r"Invocation completed successfully \(([0-9.]+)s\)")
_LATE_S: Final = 120.0
"""Metrics are embedded when they are exported, which is up to a minute after what they count."""


def read_layers(clients: Clients, source: RuntimeSource, row: InvocationRow, trace: Trace) -> list[Layer]:
    """What each layer says about an invocation, from outside in; never waits for what is late."""
    readings = _Readings(clients, source, row, trace)
    group = source.log_group(row.qualifier)
    plan: list[tuple[str, str, Callable[[], Reading], str]] = [
        ("client", "Loom's own store", readings.client, "The request was never sent."),
        ("runtime logs", group, readings.logs, "No line of this session in that time."),
        ("spans and messages", f"{SPANS_GROUP}, {MESSAGES_STREAM}", readings.spans, "No span has been collected."),
        ("embedded metrics", f"{group}, {MESSAGES_STREAM}", readings.embedded, "The agent embedded no metrics."),
        ("service metrics", SERVICE_NAMESPACE, readings.service, "None yet: AWS has them minutes later; locally none."),
        ("Logs Insights", group, readings.insights, "No line of this session in that time."),
    ]
    return [read_layer(name, place, read, empty=empty) for name, place, read, empty in plan]


class _Readings:
    def __init__(self, clients: Clients, source: RuntimeSource, row: InvocationRow, trace: Trace) -> None:
        self._clients, self._source, self._row, self._trace = clients, source, row, trace
        sent_s = row.client_invoke_time or row.created_at.timestamp()
        done_s = sent_s + (row.client_duration_ms or 0.0) / 1000
        self._sent = datetime.fromtimestamp(sent_s, UTC)
        self._done = datetime.fromtimestamp(done_s, UTC)

    def client(self) -> Reading:
        row = self._row
        facts = {
            "duration_ms": row.client_duration_ms,
            "first_byte_ms": row.ttft_ms,
            "connect_ms": row.connect_ms,
            "chunks": len(row.chunk_offsets_ms),
            "bytes": row.bytes_received,
        }
        if row.client_invoke_time is None:
            return Reading()
        return Reading(says=f"The call is {row.status}.", facts=_known(facts))

    def logs(self) -> Reading:
        page = LogReader(self._clients).session_logs(
            self._source,
            self._row.qualifier,
            self._row.session_id,
            start=self._sent,
            end=self._done + timedelta(seconds=2),
        )
        own = [event for event in page if event.request_id in (None, self._row.request_id)]
        stated = [float(found[1]) for event in own if (found := _COMPLETED.search(event.message))]
        errors = sum(event.level in ("ERROR", "CRITICAL") for event in own)
        if not own:
            return Reading()
        facts = {"lines": len(own), "errors": errors, "agent_duration_s": stated[-1] if stated else None}
        says = "The agent says how long it worked." if stated else "The agent does not say how long it worked."
        return Reading(says=says, facts=_known(facts))

    def spans(self) -> Reading:
        trace = self._trace
        if not trace.spans and not trace.log_records:
            return Reading()
        marks = sorted(trace.marks - {"duplicates_removed"})  # botocore's twins of model calls, in every trace on AWS
        facts = {
            "spans": len(trace.spans),
            "model_calls": len(trace.of_operation("chat")),
            "tool_calls": len(trace.of_operation("execute_tool")),
            "message_records": len(trace.log_records),
            "inside_ms": trace.duration_ns / 1e6 if trace.spans else None,
        }
        says = f"Marked {', '.join(marks)}." if marks else "The trace is whole."
        return Reading(says=says, facts=_known(facts))

    def embedded(self) -> Reading:
        from loomlib.aws.logs import filter_events

        lines = filter_events(
            self._clients,
            self._source.log_group(self._row.qualifier),
            region=self._source.region,
            term="CloudWatchMetrics",
            start_ms=int(self._sent.timestamp() * 1000),
            end_ms=int((self._done.timestamp() + _LATE_S) * 1000),
            streams=[MESSAGES_STREAM],
        )
        own = own_lines([line.message for line in lines], self._processes())
        whose = "this call's process" if own is not None else "the endpoint's processes"
        facts = embedded_facts([line.message for line in lines] if own is None else own)
        return Reading(says=f"Metrics that {whose} embedded about that time.", facts=facts)

    def _processes(self) -> Set[str]:
        """The instances that made the call's spans; a process's metrics name the same one."""
        found = (span.resource.get("service.instance.id") for span in self._trace.spans)
        return {each for each in found if isinstance(each, str)}

    def service(self) -> Reading:
        from loomlib.aws.metrics import metric_totals

        found = metric_totals(
            self._clients,
            SERVICE_NAMESPACE,
            about=self._source.runtime_id,
            start=self._sent.replace(second=0, microsecond=0),
            end=self._done + timedelta(minutes=1),
            region=self._source.region,
        )
        facts = tuple((f"{each.name} (mean of {each.samples})", each.mean) for each in found)
        return Reading(says="The runtime's metrics in that minute.", facts=facts)

    def insights(self) -> Reading:
        from loomlib.aws.insights import run_query

        session = re.sub(r"[^\w-]", ".", self._row.session_id)
        result = run_query(
            self._clients,
            [self._source.log_group(self._row.qualifier)],
            f"filter @message like /{session}/ | stats count() as events by @logStream | sort events desc | limit 20",
            start_s=int(self._sent.timestamp()),
            end_s=int(self._done.timestamp()) + 3,
            region=self._source.region,
        )
        facts = [(_stream(row), row.get("events", "")) for row in result.rows]
        return Reading(says=f"{result.scanned} events scanned.", facts=tuple(facts))


def _known(facts: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in facts.items() if value is not None)


def _stream(row: Mapping[str, str]) -> str:
    return row.get("@logStream", "")
