"""Ready-made queries for CloudWatch Logs Insights; they also run unchanged in the AWS console."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .span_records import SPANS_GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyQuery:
    """A ready-made query.

    Attributes:
        name: Its name.
        answers: The question it answers.
        group: `runtime` for the runtime's own log group, `spans` for `aws/spans`.
        text: The query; over `aws/spans`, which has the spans of all agents, with the placeholder `{runtime_id}`.
        numbers: The columns that hold numbers (Insights returns text).
        note: What to know about its results.
    """

    name: str
    answers: str
    group: str
    text: str
    numbers: tuple[str, ...] = ()
    note: str = ""

    def of(self, runtime_id: str) -> str:
        """Return the query text for one runtime."""
        return self.text.replace("{runtime_id}", runtime_id)

    def groups(self, runtime_group: str) -> tuple[str, ...]:
        """Return the log groups to query."""
        return (SPANS_GROUP,) if self.group == "spans" else (runtime_group,)


_OF_RUNTIME = "filter resource.attributes.cloud.resource_id like /{runtime_id}/"
_STREAMS: Final = "Streaming agents do not log `Invocation completed`; use {} for those."

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
        answers="How long does each kind of span take?",
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
        answers="Which tools are called, by the lines that Strands prints?",
        group="runtime",
        text="""fields @message
| filter @message like /^Tool #/
| parse @message 'Tool #*: *' as number, tool
| stats count() as calls by tool
| sort calls desc""",
        numbers=("calls",),
        note="Only agents with Strands' printing callback handler (its default) log these lines.",
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
        note="AWS's sidecar logs that line once per cold boot, the local AgentCore once for each process it starts.",
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
        answers="Which sessions took the most agent time, and how long was their longest invocation, by the spans?",
        group="spans",
        text=f"""{_OF_RUNTIME}
| filter name like /^invoke_agent/
| fields durationNano / 1000000 as ms, attributes.session.id as session_id
| stats count() as invocations, sum(ms) as together_ms, max(ms) as longest_ms by session_id
| sort together_ms desc
| limit 10""",
        numbers=("invocations", "together_ms", "longest_ms"),
        note="Agents called by other agents are counted too, so such sessions seem busier than they are.",
    ),
    ReadyQuery(
        name="slowest_spans",
        answers="Which single spans took longest?",
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
    """Return the query with that name.

    Raises:
        ValueError: There is no such query.
    """
    for query in READY_QUERIES:
        if query.name == name:
            return query
    raise ValueError(f"no query is named {name!r}; choose from {', '.join(query.name for query in READY_QUERIES)}")
