"""Collecting traces from log groups that are late, incomplete, shared, or not there."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from log_groups import GROUP, SOURCE, LogGroups, span_record

from loomlib.aws.connection import Clients
from loomlib.errors import AccessDeniedError
from loomlib.telemetry.log_streams import SHARED_STREAM
from loomlib.telemetry.process_starts import processes_began
from loomlib.telemetry.span_records import SPANS_GROUP
from loomlib.telemetry.trace_collector import PollingPolicy, TraceCollector, TraceRequest, TraceResult
from loomlib.workbench.agent_queries import AgentQueries
from loomlib.workbench.agent_telemetry import AgentTelemetry

QUICK = PollingPolicy(wait_s=1.5, interval_s=0.05, horizon_s=60.0, reason="it is a test")
LATE = PollingPolicy(wait_s=1.5, interval_s=0.05, horizon_s=0.0)


def trace_id(number: int) -> str:
    return f"{number + 1:032x}"


def call(number: int = 0, *, ago_s: float = 2.0, **more: Any) -> TraceRequest:
    sent_s = time.time() - ago_s
    values: dict[str, Any] = {
        "invocation_id": number,
        "session_id": f"session-{number:030d}",
        "qualifier": "DEFAULT",
        "trace_id": trace_id(number),
        "sent_s": sent_s,
        "done_s": sent_s + 1.0,
    }
    return TraceRequest(**values | more)


def put_trace(
    groups: LogGroups, request: TraceRequest, *, id: str | None = None, hidden_for: int = 0, **more: Any
) -> None:
    assert request.sent_s is not None
    sent_s = request.sent_s
    number = request.invocation_id
    stored_id = id or request.trace_id or ""
    for span_id, parent, operation, start, end in (
        (f"{number:014x}01", None, "server", 0.1, 0.9),
        (f"{number:014x}02", f"{number:014x}01", "invoke_agent", 0.2, 0.8),
        (f"{number:014x}03", f"{number:014x}02", "chat", 0.3, 0.7),
    ):
        record = span_record(
            stored_id, span_id, parent, operation, sent_s + start, sent_s + end, session_id=request.session_id, **more
        )
        groups.put(SPANS_GROUP, record, at_s=sent_s + end, hidden_for=hidden_for)


def collect(groups: LogGroups, *calls: TraceRequest, policy: PollingPolicy = QUICK, **more: Any) -> list[TraceResult]:
    results = TraceCollector(cast(Clients, groups)).collect(SOURCE, calls, policy, **more)
    return [results[request.invocation_id] for request in calls]


def test_a_trace_is_found_by_the_id_that_was_sent() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    (result,) = collect(groups, request)
    assert (result.state, result.is_complete, result.attempts) == ("found", True, 1)
    assert [span.operation for span in result.trace.spans] == ["server", "invoke_agent", "chat"]
    assert {query.get("filterPattern") for query in groups.queries} == {f'"{request.trace_id}"'}


def put_first_agent(groups: LogGroups, request: TraceRequest) -> None:
    """What a busy process exported first: a whole agent, but not the server's span or the second agent."""
    put_trace(groups, request)
    stream, at_ms, server, _ = groups.groups[SPANS_GROUP][0]
    groups.groups[SPANS_GROUP][0] = (stream, at_ms, server, 12)


def test_a_server_s_span_that_is_late_is_waited_for() -> None:
    policy = PollingPolicy(wait_s=30.0, interval_s=0.01, horizon_s=60.0, server_span_s=60.0)
    groups, request = LogGroups(), call()
    put_first_agent(groups, request)
    (result,) = collect(groups, request, policy=policy)
    assert result.state == "found"
    assert [span.operation for span in result.trace.spans] == ["server", "invoke_agent", "chat"]


def test_the_server_s_span_of_a_called_agent_does_not_complete_a_trace() -> None:
    policy = PollingPolicy(wait_s=30.0, interval_s=0.01, horizon_s=60.0, server_span_s=60.0)
    groups, request = LogGroups(), call()
    put_trace(groups, request, hidden_for=12)
    server_record = span_record(
        request.trace_id or "", "c" * 16, f"{request.invocation_id:014x}03", "server",
        request.sent_s or 0.0, request.sent_s or 0.0, session_id="s" * 40,
    )  # fmt: skip
    groups.put(SPANS_GROUP, server_record, at_s=request.sent_s)
    (result,) = collect(groups, request, policy=policy)
    assert (result.state, len(result.trace.spans)) == ("found", 4)


def test_a_trace_is_partial_while_its_server_s_span_may_come() -> None:
    policy = PollingPolicy(wait_s=0.1, interval_s=0.01, horizon_s=60.0, server_span_s=60.0)
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.groups[SPANS_GROUP] = groups.groups[SPANS_GROUP][1:]
    (early,) = collect(groups, request, policy=policy)
    assert early.state == "partial"
    (late,) = collect(groups, call(ago_s=90.0), policy=policy)
    assert late.state == "found"


def test_messages_come_from_the_runtimes_own_group_and_lines_stay_away() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    body = {"input": {"messages": [{"role": "user", "content": {"content": '[{"text": "hi"}]'}}]}}
    groups.put(GROUP, {"traceId": request.trace_id, "spanId": "0" * 15 + "3", "body": body}, stream="otel-rt-logs")
    groups.put(GROUP, {"traceId": request.trace_id, "message": "a line"}, stream="2026/11/21/[runtime-logs]0-0")
    (result,) = collect(groups, request)
    assert [record.body for record in result.trace.log_records] == [body]


def test_late_spans_are_waited_for_and_the_wait_is_reported() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request, hidden_for=4)
    groups.put(SPANS_GROUP, "another agent's line")
    messages: list[str] = []
    (result,) = collect(groups, request, progress=messages.append)
    assert result.state == "found"
    assert result.attempts > 1
    assert messages[0].startswith("0 spans so far, trace incomplete · 0 s of at most 1.5 s · it is a test")
    assert messages[-1] == "3 spans"


def test_a_trace_whose_parent_is_missing_is_partial_and_asked_for_until_the_deadline() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.groups[SPANS_GROUP] = groups.groups[SPANS_GROUP][2:]
    (result,) = collect(groups, request)
    assert result.state == "partial"
    assert not result.is_complete
    assert result.attempts > 2


def test_without_a_servers_span_a_second_look_must_bring_nothing_new() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.groups[SPANS_GROUP] = groups.groups[SPANS_GROUP][1:]
    (result,) = collect(groups, request)
    assert (result.state, result.attempts) == ("found", 2)


@pytest.mark.parametrize(
    ("policy", "ran", "state"),
    [(QUICK, True, "not_found_yet"), (LATE, True, "exports_nothing"), (QUICK, False, "no_group")],
)
def test_nothing_found_explains_what_that_means(policy: PollingPolicy, ran: bool, state: str) -> None:
    groups = LogGroups()
    if ran:
        groups.put(GROUP, "a line", stream="2026/11/21/[runtime-logs]0-0")
    (result,) = collect(groups, call(), policy=policy)
    assert result.state == state
    assert not result.is_complete
    assert result.trace.spans == ()
    assert result.sentence()


def test_messages_without_spans_are_distinguished_from_missing_records() -> None:
    groups, request = LogGroups(), call()
    groups.put(GROUP, {"traceId": request.trace_id, "spanId": "03", "body": {}}, stream="otel-rt-logs")
    (result,) = collect(groups, request, policy=LATE)
    assert result.state == "exports_nothing"
    assert result.sentence() == "1 message record of this invocation arrived, but no span."


def test_a_refused_call_costs_no_query() -> None:
    groups = LogGroups()
    (result,) = collect(groups, call(reached_agent=False))
    assert (result.state, groups.queries) == ("not_reached", [])


def test_an_agent_that_begins_its_own_trace_is_found_by_session_and_time() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request, id=trace_id(77))
    (result,) = collect(groups, request)
    assert (result.state, result.trace.trace_id) == ("found", trace_id(77))


def test_another_calls_trace_of_the_same_session_is_never_taken() -> None:
    groups = LogGroups()
    before = call(0, ago_s=4.0)
    request = call(1, session_id=before.session_id, others=(before.trace_id,))
    put_trace(groups, before)
    groups.put(GROUP, "a line", stream="[runtime-logs]0")
    (result,) = collect(groups, request)
    assert result.state == "not_found_yet"


def test_a_clock_that_is_off_hides_a_sessions_only_trace_until_no_other_can_come() -> None:
    groups, request = LogGroups(), call()
    assert request.sent_s is not None
    skewed = call(sent_s=request.sent_s - 20)
    put_trace(groups, skewed, id=trace_id(77))
    groups.put(GROUP, "a line", stream="[runtime-logs]0")
    (early,) = collect(groups, request)
    assert early.state == "not_found_yet"
    (result,) = collect(groups, request, policy=LATE)
    assert (result.state, result.trace.trace_id) == ("found", trace_id(77))


def test_a_hundred_calls_in_a_row_cost_two_queries() -> None:
    groups = LogGroups()
    calls = [call(number, ago_s=300 - 2 * number) for number in range(100)]
    for request in calls:
        put_trace(groups, request)
    results = collect(groups, *calls)
    assert {result.state for result in results} == {"found"}
    assert [result.trace.trace_id for result in results] == [request.trace_id for request in calls]
    assert [query["logGroupName"] for query in groups.queries] == [SPANS_GROUP, GROUP]


def test_calls_that_are_days_apart_do_not_read_the_days_between() -> None:
    groups = LogGroups()
    calls = [call(0, ago_s=200_000), call(1)]
    for request in calls:
        put_trace(groups, request)
    assert {result.state for result in collect(groups, *calls)} == {"found"}
    windows = [query["endTime"] - query["startTime"] for query in groups.queries]
    assert len(windows) == 4
    assert max(windows) < 1_000_000


def test_spans_that_do_not_name_their_runtime_are_found_one_by_one() -> None:
    groups = LogGroups()
    calls = [call(number, ago_s=100 - number) for number in range(6)]
    for request in calls:
        put_trace(groups, request, runtime="of nobody")
    assert {result.state for result in collect(groups, *calls)} == {"found"}


def test_a_hundred_calls_of_a_silent_agent_are_not_asked_for_one_by_one() -> None:
    groups = LogGroups()
    groups.put(GROUP, "a line", stream="[runtime-logs]0")
    groups.put(SPANS_GROUP, "somebody else's")
    results = collect(groups, *(call(number, ago_s=300 - number) for number in range(100)), policy=LATE)
    assert {result.state for result in results} == {"exports_nothing"}
    assert len(groups.queries) < 20


def test_only_what_is_not_whole_is_searched_for_again() -> None:
    groups = LogGroups()
    calls = [call(0), call(1)]
    put_trace(groups, calls[0])
    groups.put(GROUP, "a line", stream="[runtime-logs]0")
    complete, missing = collect(groups, *calls)
    assert (complete.state, complete.attempts) == ("found", 1)
    assert (missing.state, missing.attempts > 1) == ("not_found_yet", True)


@pytest.mark.parametrize(
    "junk", ["{", "[1]", '{"traceId": 5}', "\x00\ufffd", '{"traceId": "' + "1" * 32 + '"', "{}" * 9]
)
def test_junk_among_the_records_is_left_alone(junk: str) -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.put(SPANS_GROUP, junk + (request.trace_id or ""))
    (result,) = collect(groups, request)
    assert (result.state, len(result.trace.spans)) == ("found", 3)


def test_a_record_that_claims_to_be_a_span_and_is_none_is_reported() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.put(SPANS_GROUP, {"traceId": request.trace_id, "session": request.session_id})
    (result,) = collect(groups, request)
    assert result.state == "found"
    assert len(result.unreadable) == 1


def test_a_record_that_comes_twice_is_kept_once() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request)
    groups.groups[SPANS_GROUP] *= 2
    (result,) = collect(groups, request)
    assert len(result.records) == 3
    assert "duplicates_removed" not in result.trace.marks


class Busy(LogGroups):
    """A group that CloudWatch pages through without end, and that Logs Insights answers about at once."""

    asked: str = ""

    def filter_log_events(self, **query: Any) -> dict[str, Any]:
        response = super().filter_log_events(**query)
        is_endless = query["logGroupName"] == SPANS_GROUP
        return {"events": [], "nextToken": str(len(self.queries))} if is_endless else response

    def start_query(self, *, queryString: str, **more: Any) -> dict[str, Any]:
        self.asked = queryString
        return {"queryId": "one"}

    def get_query_results(self, *, queryId: str) -> dict[str, Any]:
        rows = [[{"field": "@message", "value": text}] for _, _, text, _ in self.groups[SPANS_GROUP]]
        return {"status": "Complete", "results": rows, "statistics": {"recordsScanned": 1e9}}


def test_a_group_too_large_to_page_through_is_asked_by_logs_insights() -> None:
    groups, request, other = Busy(), call(), call(1)
    put_trace(groups, request)
    put_trace(groups, other)
    (result,) = collect(groups, request)
    assert (result.state, len(result.trace.spans)) == ("found", 3)
    assert f"filter @message like /{request.trace_id}/" in groups.asked


TOLD = PollingPolicy(wait_s=1.5, interval_s=0.05, horizon_s=60.0, reports_exports=True)
OVERDUE = PollingPolicy(wait_s=1.5, interval_s=0.05, horizon_s=0.0, reports_exports=True)
LINES = "2026/11/21/[runtime-logs]one"


def say(groups: LogGroups, request: TraceRequest, text: str, *, after_s: float, stream: str = LINES) -> None:
    """What the local service says about the call's session, so long after the call was sent."""
    assert request.sent_s is not None
    groups.put(GROUP, f"Loom: session {request.session_id}: {text}", at_s=request.sent_s + after_s, stream=stream)


@pytest.mark.parametrize("known", [False, True])
def test_a_process_that_is_known_to_make_no_spans_is_not_waited_for(known: bool) -> None:
    groups, request = LogGroups(), call(agent_exports=known)
    say(groups, request, "makes no spans", after_s=-600.0, stream="otel-rt-logs")
    (result,) = collect(groups, request, policy=TOLD)
    assert result.state == "exports_nothing"
    assert result.attempts < 10
    assert result.is_unconfigured == (not known)


def test_a_process_that_began_to_make_spans_is_waited_for() -> None:
    groups, request = LogGroups(), call()
    say(groups, request, "makes no spans", after_s=-600.0, stream="otel-rt-logs")
    say(groups, request, "makes spans now", after_s=0.5, stream="otel-rt-logs")
    put_trace(groups, request, hidden_for=4)
    (result,) = collect(groups, request, policy=TOLD)
    assert result.state == "found"


def test_a_process_that_ended_before_its_spans_left_is_reported_as_died() -> None:
    groups, request, other = LogGroups(), call(), call(1)
    say(groups, request, "its process was killed by SIGKILL; what it had not exported by then is lost", after_s=1.05)
    result, other_result = collect(groups, request, other, policy=TOLD)
    assert (result.state, other_result.state) == ("died", "not_found_yet")
    assert result.attempts < other_result.attempts
    assert not result.is_unconfigured
    assert "ended before it had exported its spans" in result.sentence()


def test_the_end_of_a_process_long_after_a_call_does_not_explain_what_that_call_misses() -> None:
    groups, request = LogGroups(), call(ago_s=100.0)
    say(groups, request, "its process was killed by SIGKILL; what it had not exported by then is lost", after_s=90.0)
    (result,) = collect(groups, request, policy=OVERDUE)
    assert result.state == "exports_nothing"


def test_spans_that_left_before_their_process_died_are_found() -> None:
    groups, request = LogGroups(), call()
    put_trace(groups, request, hidden_for=1)
    say(groups, request, "its process was killed by SIGKILL; what it had not exported by then is lost", after_s=1.05)
    (result,) = collect(groups, request, policy=TOLD)
    assert result.state == "found"


def test_lost_spans_are_those_of_the_session_that_lost_them() -> None:
    groups, request, other = LogGroups(), call(), call(1)
    say(groups, request, "8 spans were not exported: nobody listens", after_s=1.2)
    result, other_result = collect(groups, request, other, policy=OVERDUE)
    assert (result.state, other_result.state) == ("lost", "undelivered")


def test_spans_are_overdue_until_their_exporter_must_have_given_up() -> None:
    groups, young, old = LogGroups(), call(), call(1, ago_s=60.0)
    groups.put(GROUP, "a line", stream=LINES)
    young_result, old_result = collect(groups, young, old, policy=OVERDUE)
    assert (young_result.state, old_result.state) == ("undelivered", "exports_nothing")
    assert "overdue" in young_result.sentence()


class Forbidden(LogGroups):
    def filter_log_events(self, **query: Any) -> dict[str, Any]:
        error_response = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error_response, "FilterLogEvents")  # pyright: ignore[reportArgumentType]


def test_missing_permissions_are_no_missing_spans() -> None:
    with pytest.raises(AccessDeniedError):
        collect(Forbidden(), call())


class Unlisted(LogGroups):
    def describe_log_groups(self, *, logGroupNamePrefix: str, limit: int) -> dict[str, Any]:
        error_response = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
        raise ClientError(error_response, "DescribeLogGroups")  # pyright: ignore[reportArgumentType]


def test_where_groups_may_not_be_listed_an_endpoint_is_not_reported_as_having_none() -> None:
    (result,) = collect(Unlisted(), call(), policy=LATE)
    assert result.state == "exports_nothing"


def test_many_calls_ask_once_whether_their_endpoint_ran() -> None:
    prefixes: list[str] = []

    class Counted(LogGroups):
        def describe_log_groups(self, *, logGroupNamePrefix: str, limit: int) -> dict[str, Any]:
            prefixes.append(logGroupNamePrefix)
            return super().describe_log_groups(logGroupNamePrefix=logGroupNamePrefix, limit=limit)

    results = collect(Counted(), *(call(number, ago_s=300 - number) for number in range(20)), policy=LATE)
    assert {result.state for result in results} == {"no_group"}
    assert prefixes == [GROUP]


def test_a_process_began_for_a_call_when_its_first_line_came_after_it() -> None:
    groups = LogGroups()
    first, second, silent = call(0, ago_s=10), call(1, ago_s=5, session_id=call(0).session_id), call(2, ago_s=5)
    assert first.sent_s is not None
    assert second.sent_s is not None
    stream = "2026/11/21/[runtime-logs]one"
    groups.put(GROUP, "loading", at_s=first.sent_s + 0.2, stream=stream)
    groups.put(GROUP, f"done {first.session_id}", at_s=first.sent_s + 0.9, stream=stream)
    groups.put(GROUP, f"done {first.session_id}", at_s=second.sent_s + 0.9, stream=stream)
    has_begun = processes_began(cast(Clients, groups), SOURCE, [first, second, silent])
    assert has_begun == {0: True, 1: False, 2: None}


def test_a_stream_that_all_processes_share_does_not_show_whether_a_process_began() -> None:
    groups, request = LogGroups(), call()
    groups.put(GROUP, "of another session", at_s=time.time() - 3600, stream=SHARED_STREAM)
    say(groups, request, "served", after_s=0.5, stream=SHARED_STREAM)
    assert processes_began(cast(Clients, groups), SOURCE, [request]) == {request.invocation_id: None}


@pytest.mark.parametrize("name", ["start", "end"])
def test_a_query_refuses_a_time_without_a_zone(name: str) -> None:
    queries = AgentQueries(cast("Any", None), cast("Any", None), qualifier="DEFAULT")
    with pytest.raises(ValueError, match="a time for a query must be timezone-aware: 2026-01-01"):
        queries.ask("fields @timestamp", **{name: datetime(2026, 1, 1)})


@pytest.mark.parametrize("hours", [float("nan"), float("inf"), 1e300])
def test_processes_refuse_hours_that_no_calendar_has(hours: float) -> None:
    agent_telemetry = AgentTelemetry(cast("Any", None), cast("Any", None), "DEFAULT")
    with pytest.raises(ValueError, match="hours must be a number of hours since the year 1, not"):
        agent_telemetry.processes(hours=hours)
