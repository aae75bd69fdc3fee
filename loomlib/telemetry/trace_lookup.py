"""The lookup of an invocation's trace: the request, how long to poll, and the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.presentation.formats import plural
from loomlib.store import InvocationRow

from ..store import NEVER_BEGAN
from .traces.read import read_spans
from .traces.trace import Trace

TRACE_STATES: Final = (
    *("found", "partial", "not_found_yet", "undelivered", "lost", "died", "exports_nothing", "no_group", "not_reached"),
)
"""How a lookup ended.

`found`; `partial`: some spans are missing; `not_found_yet`: it is too early to tell. Without any span: `undelivered`,
the agent's process has spans that are overdue; `lost`, the agent's log says that they could not be exported; `died`,
the process ended before it had exported them; `exports_nothing`, the process creates none, or none came within the time
in which they must; `no_group`, the endpoint has no log group; `not_reached`, the request was refused before it reached
the agent. `undelivered` and `died` are known for the local AgentCore only."""

FINAL_AFTER_S: Final = 3600.0
"""Seconds after the answer from which missing spans are final: CloudWatch's own delays are minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """An invocation whose trace is requested.

    Attributes:
        invocation_id: The id of the stored invocation.
        session_id: Its runtime session.
        qualifier: The endpoint it was sent to.
        trace_id: Its trace id; None when unknown.
        sent_s: When it was sent, Unix seconds on the client's clock.
        done_s: When the answer was complete.
        reached_agent: Whether the request reached the agent.
        others: The trace ids of the session's other invocations; None for an unknown one.
        agent_exports: Whether spans of this agent were found before, so that missing ones are late.
    """

    invocation_id: int
    session_id: str
    qualifier: str
    trace_id: str | None
    sent_s: float | None
    done_s: float | None
    reached_agent: bool = True
    others: tuple[str | None, ...] = ()
    agent_exports: bool = False

    @classmethod
    def of(cls, row: InvocationRow, others: Iterable[str | None] = (), *, agent_exports: bool = False) -> TraceRequest:
        """Return the request for a stored invocation; an unrecorded end is replaced by its start.

        Args:
            row: The stored invocation.
            others: The trace ids of the session's other invocations.
            agent_exports: Whether spans of this agent were found before.
        """
        done_s = row.client_done_time
        if done_s is None and row.status == "error":
            done_s = row.client_invoke_time
        return cls(
            invocation_id=row.id,
            session_id=row.session_id,
            qualifier=row.qualifier,
            trace_id=row.trace_id,
            sent_s=row.client_invoke_time,
            done_s=done_s,
            reached_agent=row.client_invoke_time is not None and row.failure not in NEVER_BEGAN,
            others=tuple(others),
            agent_exports=agent_exports,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingPolicy:
    """How long to poll for spans; all times in seconds.

    Attributes:
        wait_s: How long to poll in all.
        interval_s: The time between two attempts.
        horizon_s: How long after the answer spans can still arrive.
        settle_s: How long after the answer a trace that looks complete is looked up once more.
        server_span_s: How long after the answer the server's span may be the only one that is missing: the parent of
            the first span is then unknown, as it also is when the caller's span is the parent.
        reason: Why polling is needed; shown with the progress.
        remedy: How to enable exporting; shown when no spans arrive.
        reports_exports: Whether the service reports that a process creates no spans or ended before exporting them, so
            that polling can stop early.
        any_time: Whether spans that are not stored near the time of their invocation are searched at any time, because
            the machine's time may have been set meanwhile. AWS has its own clock.
    """

    wait_s: float
    interval_s: float
    horizon_s: float
    settle_s: float = 0.0
    server_span_s: float = 0.0
    reason: str = ""
    remedy: str = ""
    reports_exports: bool = False
    any_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """The trace of one invocation, or why there is none (then `trace` is empty).

    Attributes:
        request: What was looked up.
        state: One of `TRACE_STATES`.
        trace: The trace.
        records: Its spans and messages as stored, one JSON text each.
        unreadable: Records that look like spans but could not be read, with the reason.
        attempts: How often they were looked up.
        is_final: Whether missing records can no longer arrive.
    """

    request: TraceRequest
    state: str
    trace: Trace = field(repr=False)
    records: tuple[str, ...] = field(default=(), repr=False)
    unreadable: tuple[str, ...] = ()
    attempts: int = 0
    is_final: bool = False

    def __post_init__(self) -> None:
        if self.state not in TRACE_STATES:
            raise ValueError(f"the state of a trace is one of {', '.join(TRACE_STATES)}, not {self.state!r}")

    @property
    def cut_records(self) -> int:
        """Number of spans and message records with a truncated value."""
        spans = sum("values_cut" in span.marks for span in self.trace.spans)
        return spans + sum(record.is_cut for record in self.trace.log_records)

    @property
    def is_complete(self) -> bool:
        """Whether another lookup would find nothing new."""
        return self.state == "found" or self.is_final

    @property
    def is_unconfigured(self) -> bool:
        """Whether spans are probably missing because exporting is not enabled."""
        return self.state == "no_group" or (self.state == "exports_nothing" and not self.request.agent_exports)

    def sentence(self) -> str:
        """Return the outcome in a sentence, without advice."""
        spans, messages = plural(len(self.trace.spans), "span"), plural(len(self.trace.log_records), "message record")
        match self.state:
            case "found":
                return f"{spans}, {messages}."
            case "partial":
                return f"{spans} so far; others are missing, so parts of the breakdown are inferred."
            case "exports_nothing" if self.trace.log_records:
                return f"{messages} of this invocation arrived, but no span."
            case "exports_nothing" if self.request.agent_exports:
                return "The agent exported no span for this invocation, although it did for others."
            case state:
                return _SENTENCES[state]


_SENTENCES: Final = {
    "not_found_yet": "No span of this invocation has arrived yet. Try again in a moment.",
    "lost": "The agent could not export its spans. Its log says why: search it for “spans were not exported”.",
    "undelivered": "The agent's process has not delivered its spans yet, and they are overdue. Try again in a moment.",
    "died": "The agent's process ended before it had exported its spans, so they are lost. Its log says how it ended.",
    "exports_nothing": "The agent exported no span for this invocation.",
    "no_group": "The endpoint has no log group: it never ran, so there are no spans.",
    "not_reached": "The request was refused before it reached the agent, so it has no spans.",
}


def trace_from(documents: Iterable[str | Mapping[str, Any]], *, trace_id: str | None) -> tuple[Trace, tuple[str, ...]]:
    """Build the trace from records.

    Of several traces, the one with `trace_id` is returned; if none has it (the agent started traces of its own), all
    of them are returned as one.

    Args:
        documents: The records, as JSON texts or parsed.
        trace_id: The invocation's trace id.

    Returns:
        The trace, and a description of each record that could not be read.
    """
    batch = read_spans(list(documents))
    unreadable = tuple(f"{problem.where}: {problem.what}" for problem in batch.problems)
    traces = Trace.of(batch.spans, batch.log_records)
    matches = [trace for trace in traces if trace.trace_id == trace_id]
    if len(matches) == 1:
        return matches[0], unreadable
    return (traces[0] if len(traces) == 1 else Trace.one(batch.spans, batch.log_records)), unreadable
