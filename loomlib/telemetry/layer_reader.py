"""Read the six layers of one stored invocation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from loomlib.store import InvocationRow

from .embedded_metrics import embedded_facts, own_lines
from .layers import Layer, LayerReading, read_layer
from .logs import LogReader
from .sources import RuntimeSource
from .span_records import MESSAGES_STREAM, SPANS_GROUP
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.aws.connection import Clients

SERVICE_NAMESPACE: Final = "AWS/Bedrock-AgentCore"
_COMPLETED: Final = re.compile(r"Invocation completed successfully \(([0-9.]+)s\)")
_LATE_S: Final = 120.0
"""Metrics are logged when they are exported, up to a minute after the events that they count."""


def read_layers(clients: Clients, source: RuntimeSource, row: InvocationRow, trace: Trace) -> list[Layer]:
    """Read each layer's data about an invocation, outermost first, without waiting for late data.

    Args:
        clients: The AWS clients of a connection.
        source: The agent's runtime.
        row: The stored invocation.
        trace: Its trace.
    """
    layers = _InvocationLayers(clients, source, row, trace)
    group = source.log_group(row.qualifier)
    plan: list[tuple[str, str, Callable[[], LayerReading], str]] = [
        ("client", "Loom's database", layers.client, "The request was never sent."),
        ("runtime logs", group, layers.logs, "No log line of this session in that time."),
        ("spans and messages", f"{SPANS_GROUP}, {MESSAGES_STREAM}", layers.spans, "No span was found."),
        ("embedded metrics", f"{group}, {MESSAGES_STREAM}", layers.embedded, "The agent logged no embedded metrics."),
        (
            "service metrics",
            SERVICE_NAMESPACE,
            layers.service,
            "None yet: AWS publishes them minutes later; the local service has none.",
        ),
        ("Logs Insights", group, layers.insights, "No log line of this session in that time."),
    ]
    return [read_layer(name, place, read, empty=empty) for name, place, read, empty in plan]


class _InvocationLayers:
    def __init__(self, clients: Clients, source: RuntimeSource, row: InvocationRow, trace: Trace) -> None:
        self._clients, self._source, self._row, self._trace = clients, source, row, trace
        sent_s = row.client_invoke_time or row.created_at.timestamp()
        done_s = sent_s + (row.client_duration_ms or 0.0) / 1000
        self._sent_at = datetime.fromtimestamp(sent_s, UTC)
        self._done_at = datetime.fromtimestamp(done_s, UTC)

    def client(self) -> LayerReading:
        row = self._row
        facts = {
            "duration_ms": row.client_duration_ms,
            "first_byte_ms": row.ttft_ms,
            "connect_ms": row.connect_ms,
            "chunks": len(row.chunk_offsets_ms),
            "bytes": row.bytes_received,
        }
        if row.client_invoke_time is None:
            return LayerReading()
        return LayerReading(says=f"The invocation is {row.status}.", facts=_present(facts))

    def logs(self) -> LayerReading:
        page = LogReader(self._clients).session_logs(
            self._source,
            self._row.qualifier,
            self._row.session_id,
            start=self._sent_at,
            end=self._done_at + timedelta(seconds=2),
        )
        own = [event for event in page if event.request_id in (None, self._row.request_id)]
        durations = [float(match[1]) for event in own if (match := _COMPLETED.search(event.message))]
        errors = sum(event.level in ("ERROR", "CRITICAL") for event in own)
        if not own:
            return LayerReading()
        facts = {"lines": len(own), "errors": errors, "agent_duration_s": durations[-1] if durations else None}
        says = "The agent logged its duration." if durations else "The agent did not log its duration."
        return LayerReading(says=says, facts=_present(facts))

    def spans(self) -> LayerReading:
        trace = self._trace
        if not trace.spans and not trace.log_records:
            return LayerReading()
        marks = sorted(trace.marks - {"duplicates_removed"})  # botocore's twins of model calls, in every trace on AWS
        facts = {
            "spans": len(trace.spans),
            "model_calls": len(trace.of_operation("chat")),
            "tool_calls": len(trace.of_operation("execute_tool")),
            "message_records": len(trace.log_records),
            "inside_ms": trace.duration_ns / 1e6 if trace.spans else None,
        }
        says = f"Marks: {', '.join(marks)}." if marks else "The trace is complete."
        return LayerReading(says=says, facts=_present(facts))

    def embedded(self) -> LayerReading:
        from loomlib.aws.logs import filter_events

        lines = filter_events(
            self._clients,
            self._source.log_group(self._row.qualifier),
            region=self._source.region,
            term="CloudWatchMetrics",
            start_ms=int(self._sent_at.timestamp() * 1000),
            end_ms=int((self._done_at.timestamp() + _LATE_S) * 1000),
            streams=[MESSAGES_STREAM],
        )
        own = own_lines([line.message for line in lines], self._processes())
        owner = "this invocation's process" if own is not None else "the endpoint's processes"
        facts = embedded_facts([line.message for line in lines] if own is None else own)
        return LayerReading(says=f"Metrics that {owner} logged around that time.", facts=facts)

    def _processes(self) -> Set[str]:
        """Return the instances that exported the invocation's spans; a process's metrics name the same one."""
        ids = (span.resource.get("service.instance.id") for span in self._trace.spans)
        return {id for id in ids if isinstance(id, str)}

    def service(self) -> LayerReading:
        from loomlib.aws.metrics import metric_totals

        metrics = metric_totals(
            self._clients,
            SERVICE_NAMESPACE,
            about=self._source.runtime_id,
            start=self._sent_at.replace(second=0, microsecond=0),
            end=self._done_at + timedelta(minutes=1),
            region=self._source.region,
        )
        facts = tuple((f"{metric.name} (mean of {metric.samples})", metric.mean) for metric in metrics)
        return LayerReading(says="The runtime's metrics of that minute.", facts=facts)

    def insights(self) -> LayerReading:
        from loomlib.aws.insights import run_query

        session = re.sub(r"[^\w-]", ".", self._row.session_id)
        result = run_query(
            self._clients,
            [self._source.log_group(self._row.qualifier)],
            f"filter @message like /{session}/ | stats count() as events by @logStream | sort events desc | limit 20",
            start_s=int(self._sent_at.timestamp()),
            end_s=int(self._done_at.timestamp()) + 3,
            region=self._source.region,
        )
        facts = [(_stream(row), row.get("events", "")) for row in result.rows]
        return LayerReading(says=f"{result.scanned} events scanned.", facts=tuple(facts))


def _present(facts: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in facts.items() if value is not None)


def _stream(row: Mapping[str, str]) -> str:
    return row.get("@logStream", "")
