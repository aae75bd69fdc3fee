"""Ready queries for CloudWatch Logs Insights. They run as they are on AWS's console, on AWS and locally."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .span_records import SPANS_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyQuery:
    """A query: what it answers, over which log group, and what to know about its answer.

    `text` has one place, `{runtime_id}`, in queries over `aws/spans`, which holds the spans of all agents.
    `numbers` are the columns that hold numbers (Insights answers in text).
    """

    name: str
    answers: str
    group: str
    text: str
    numbers: tuple[str, ...] = ()
    note: str = ""

    def of(self, runtime_id: str) -> str:
        """The query for one runtime."""
        return self.text.replace("{runtime_id}", runtime_id)

    def groups(self, runtime_group: str) -> tuple[str, ...]:
        """The log groups to ask."""
        return (SPANS_GROUP,) if self.group == "spans" else (runtime_group,)


_OF_RUNTIME = "filter resource.attributes.cloud.resource_id like /{runtime_id}/"
_STREAMS: Final = "Agents that stream never log `Invocation completed`: {} has them all."

READY_QUERIES: Final = (
    ReadyQuery(
        name="duration_percentiles",
        answers="How long do invocations take, by the agent's own log?",
        group="runtime",
        text="""fields @timestamp, @message
| filter @message like /Invocation completed/
| parse @message 'Invocation completed successfully (*s)' as duration
| stats count() as n, avg(duration) as avg_s, pct(duration, 50) as p50_s, pct(duration, 90) as p90_s,
        pct(duration, 99) as p99_s, max(duration) as max_s""",
        numbers=("n", "avg_s", "p50_s", "p90_s", "p99_s", "max_s"),
        note=_STREAMS.format("span_percentiles"),
    ),
    ReadyQuery(
        name="span_percentiles",
        answers="How long does each kind of work take, by the spans?",
        group="spans",
        text=f"""{_OF_RUNTIME}
| fields durationNano / 1000000 as ms
| stats count() as n, avg(ms) as avg_ms, pct(ms, 50) as p50_ms, pct(ms, 90) as p90_ms, pct(ms, 99) as p99_ms,
        max(ms) as max_ms by name
| sort n desc
| limit 100""",
        numbers=("n", "avg_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"),
    ),
    ReadyQuery(
        name="tool_frequency",
        answers="Which tools are called, how often, and how long do they take?",
        group="spans",
        text=f"""{_OF_RUNTIME}
| filter name like /^execute_tool /
| parse name "execute_tool *" as tool
| fields durationNano / 1000000 as ms
| stats count() as calls, avg(ms) as avg_ms, max(ms) as max_ms by tool
| sort calls desc
| limit 100""",
        numbers=("calls", "avg_ms", "max_ms"),
    ),
    ReadyQuery(
        name="printed_tools",
        answers="Which tools are called, by what Strands prints?",
        group="runtime",
        text="""fields @message
| filter @message like /^Tool #/
| parse @message 'Tool #*: *' as number, tool
| stats count() as calls by tool
| sort calls desc""",
        numbers=("calls",),
        note="Only agents with Strands' printing callback handler, its default, write these lines.",
    ),
    ReadyQuery(
        name="cold_starts_an_hour",
        answers="How many processes were started, hour by hour?",
        group="runtime",
        text="""fields @timestamp
| filter @message like /Connection failed out to container health check/
| stats count() as cold_starts by bin(1h) as hour
| sort hour""",
        numbers=("cold_starts",),
        note="AWS's sidecar writes that line once a cold boot, the local AgentCore once for each process it starts.",
    ),
    ReadyQuery(
        name="slowest_sessions",
        answers="Which invocations took longest, and in which sessions?",
        group="runtime",
        text="""fields @timestamp, @message
| filter @message like /Invocation completed/
| parse @message /Invocation completed successfully \\((?<duration_s>[0-9.]+)s\\)/
| parse @message /"sessionId": "(?<session_id>[^"]*)"/
| display @timestamp, duration_s, session_id
| sort duration_s desc
| limit 10""",
        numbers=("duration_s",),
        note=_STREAMS.format("slowest_sessions_by_spans"),
    ),
    ReadyQuery(
        name="slowest_sessions_by_spans",
        answers="Which sessions' agents worked longest, and how long did their longest answer take, by the spans?",
        group="spans",
        text=f"""{_OF_RUNTIME}
| filter name like /^invoke_agent/
| fields durationNano / 1000000 as ms, attributes.session.id as session_id
| stats count() as invocations, sum(ms) as together_ms, max(ms) as longest_ms by session_id
| sort together_ms desc
| limit 10""",
        numbers=("invocations", "together_ms", "longest_ms"),
        note="Agents that call other agents are counted with them, so their sessions seem busier than they are.",
    ),
    ReadyQuery(
        name="slowest_spans",
        answers="Which single pieces of work took longest?",
        group="spans",
        text=f"""{_OF_RUNTIME}
| fields durationNano / 1000000 as ms, attributes.session.id as session_id
| display endTimeUnixNano, name, ms, session_id, traceId
| sort ms desc
| limit 20""",
        numbers=("ms",),
    ),
)


def ready_query(name: str) -> ReadyQuery:
    """The query of that name; `ValueError` names them all."""
    for each in READY_QUERIES:
        if each.name == name:
            return each
    raise ValueError(f"no ready query is called {name!r}: {', '.join(each.name for each in READY_QUERIES)}")
