"""Spans from a plugin's source, and what the store keeps so that nothing is asked for twice."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from log_groups import GROUP, SOURCE, LogGroups, span_record
from new_store import new_store

from loomlib.agents import AgentEntry
from loomlib.agents.entry import entry_from_row
from loomlib.aws.connection import Clients
from loomlib.errors import PluginError
from loomlib.store import InvocationRow, Store
from loomlib.telemetry import NamedSource, PollingPolicy, TraceRequest
from loomlib.telemetry.cost import UsageLogs
from loomlib.telemetry.span_records import SPANS_GROUP
from loomlib.workbench.runtime_uses import RuntimeUses
from loomlib.workbench.trace_finder import TraceFinder

QUICK = PollingPolicy(wait_s=0.1, interval_s=0.01, horizon_s=60.0)
USAGE = f"/aws/vendedlogs/bedrock-agentcore/runtime/USAGE_LOGS/{SOURCE.runtime_id}"
SESSION = f"loom-{'0' * 32}"
TRACE = f"{7:032x}"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = new_store(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def entry(store: Store) -> AgentEntry:
    row = store.agents.upsert(
        scope="aws", arn=str(SOURCE), runtime_id=SOURCE.runtime_id, region=SOURCE.region, account_id="123456789012"
    )
    return entry_from_row(row)


def invocation(store: Store, entry: AgentEntry, *, ago_s: float = 30.0) -> InvocationRow:
    sent_s = time.time() - ago_s
    id = store.invocations.begin(agent_id=entry.id, session_id=SESSION, client_invoke_time=sent_s)
    store.invocations.finish(
        id,
        status="complete",
        response="done",
        client_done_time=sent_s + 1.0,
        client_duration_ms=1000.0,
        ttft_ms=900.0,
        trace_id=TRACE,
    )
    row = store.invocations.get(id)
    assert row is not None
    return row


def tracer(store: Store, groups: LogGroups) -> TraceFinder:
    return TraceFinder(store, cast(Clients, groups), span_polling=QUICK, same_clock=True)


def spans_of(row: InvocationRow) -> list[dict[str, Any]]:
    at = row.client_invoke_time or 0.0
    return [
        span_record(TRACE, "00000000000000a1", None, "server", at + 0.1, at + 0.9, session_id=SESSION),
        span_record(TRACE, "00000000000000a2", "00000000000000a1", "invoke_agent", at + 0.1, at + 0.8),
        span_record(TRACE, "00000000000000a3", "00000000000000a2", "chat", at + 0.2, at + 0.7),
    ]


class Elsewhere:
    """A span source: what it has, and for which calls it was asked."""

    def __init__(self, *documents: str | bytes | dict[str, Any]) -> None:
        self.documents, self.calls = documents, list[TraceRequest]()

    def __call__(self, call: TraceRequest, /) -> tuple[str | bytes | dict[str, Any], ...]:
        self.calls.append(call)
        return self.documents


def lines_only() -> LogGroups:
    groups = LogGroups()
    groups.put(GROUP, "a line", stream="2026/11/21/[runtime-logs]0-0")
    groups.put(SPANS_GROUP, "another agent's")
    return groups


def test_a_plugins_source_is_asked_in_the_place_of_cloudwatch_and_what_it_gave_is_kept(
    store: Store, entry: AgentEntry
) -> None:
    row, groups = invocation(store, entry), LogGroups()
    first, second, third = spans_of(row)
    elsewhere = Elsewhere(first, json.dumps(second), json.dumps(third).encode())
    source = NamedSource(name="jaeger", read=elsewhere)
    (initial,) = tracer(store, groups).trace(entry, [row], source=source)
    assert (initial.collected.state, len(initial.collected.trace.spans)) == ("found", 3)
    assert [(call.trace_id, call.session_id) for call in elsewhere.calls] == [(TRACE, SESSION)]
    assert not [query for query in groups.queries if query["logGroupName"] == SPANS_GROUP]
    (again,) = tracer(store, groups).trace(entry, [row], source=source)
    (without,) = tracer(store, groups).trace(entry, [row])
    assert again.collected.trace.spans == without.collected.trace.spans == initial.collected.trace.spans
    assert len(elsewhere.calls) == 1


def test_a_source_that_has_nothing_does_not_take_away_what_is_kept(store: Store, entry: AgentEntry) -> None:
    row, groups = invocation(store, entry), lines_only()
    for record in spans_of(row):
        groups.put(SPANS_GROUP, record, at_s=row.client_done_time)
    assert tracer(store, groups).trace(entry, [row])[0].collected.state == "found"
    source = NamedSource(name="jaeger", read=Elsewhere())
    assert tracer(store, groups).trace(entry, [row], source=source)[0].collected.state == "not_found_yet"
    assert tracer(store, groups).trace(entry, [row])[0].collected.state == "found"


@pytest.mark.parametrize(("given", "reason"), [("{", "JSONDecodeError"), ("[1]", "TypeError: expected a JSON object")])
def test_a_source_that_fails_is_named(store: Store, entry: AgentEntry, given: str, reason: str) -> None:
    source = NamedSource(name="jaeger", read=Elsewhere(given))
    with pytest.raises(PluginError, match=f"'jaeger' failed: {reason}"):
        tracer(store, LogGroups()).trace(entry, [invocation(store, entry)], source=source)


@pytest.mark.parametrize("kept_spans", [0, 1])
def test_what_is_missing_an_hour_after_the_answer_is_not_asked_for_again(
    store: Store, entry: AgentEntry, kept_spans: int
) -> None:
    row, groups = invocation(store, entry, ago_s=7200.0), lines_only()
    for record in spans_of(row)[2 : 2 + kept_spans]:
        groups.put(SPANS_GROUP, record, at_s=row.client_done_time)
    (first,) = tracer(store, groups).trace(entry, [row])
    assert first.collected.state == ("partial" if kept_spans else "exports_nothing")
    queries = len(groups.queries)
    (again,) = tracer(store, groups).trace(entry, [row])
    assert [query for query in groups.queries[queries:] if query["logGroupName"] == SPANS_GROUP] == []
    assert (again.collected.state, again.collected.sentence()) == (first.collected.state, first.collected.sentence())
    assert again.collected.trace.spans == first.collected.trace.spans


def test_what_is_missing_soon_after_the_answer_is_asked_for_again(store: Store, entry: AgentEntry) -> None:
    row, groups = invocation(store, entry, ago_s=120.0), lines_only()
    assert tracer(store, groups).trace(entry, [row])[0].collected.state == "exports_nothing"
    for record in spans_of(row):
        groups.put(SPANS_GROUP, record, at_s=row.client_done_time)
    assert tracer(store, groups).trace(entry, [row])[0].collected.state == "found"


def test_cpu_and_memory_are_read_once_they_are_whole_and_then_kept(store: Store, entry: AgentEntry) -> None:
    row, groups = invocation(store, entry), LogGroups()
    for record in spans_of(row):
        groups.put(SPANS_GROUP, record, at_s=row.client_done_time)
    usage = {
        "event_timestamp": int((row.client_done_time or 0) * 1000),
        "attributes": {"session.id": SESSION, "time_elapsed_seconds": 1.0},
        "metrics": {"agent.runtime.vcpu.hours.used": 0.5 / 3600, "agent.runtime.memory.gb_hours.used": 0.25 / 3600},
    }
    groups.put(USAGE, usage, at_s=row.client_done_time)

    def asked(*, settled_s: float) -> int:
        before = len(groups.queries)
        (traced_invocation,) = tracer(store, groups).trace(entry, [row])
        use = RuntimeUses(store, UsageLogs(cast(Clients, groups)), settled_s=settled_s).of(
            entry.arn, traced_invocation.row, traced_invocation.use
        )
        assert (float(use.vcpu_s or 0), float(use.memory_gb_s or 0)) == pytest.approx((0.5, 0.25), abs=0.01)
        assert use.basis == "the runtime's usage log, 1 record"
        return sum(query["logGroupName"] == USAGE for query in groups.queries[before:])

    assert [asked(settled_s=3600.0), asked(settled_s=3600.0), asked(settled_s=0.0), asked(settled_s=0.0)] == [
        1,
        1,
        1,
        0,
    ]
