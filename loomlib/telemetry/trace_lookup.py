"""What collecting a trace is asked for, how long it may take, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..store import NEVER_BEGAN
from .traces.read import read_spans
from .traces.trace import Trace

if TYPE_CHECKING:
    from loomlib.store import InvocationRow

TRACE_STATES: Final = (
    *("found", "partial", "not_found_yet", "undelivered", "lost", "died", "exports_nothing", "no_group", "not_reached"),
)
"""How collecting ended: `found`; `partial`, spans are missing; `not_found_yet`, it is too early to say.

Of a call without any: its process has spans that are overdue (`undelivered`); the agent's log says that nobody took
them (`lost`) or that the process ended before they left (`died`); the process makes none, or nothing came within the
time in which it must (`exports_nothing`); the endpoint has no log group (`no_group`); the call was refused before it
reached the agent (`not_reached`). `undelivered` and `died` are known of the local AgentCore only."""

FINAL_AFTER_S: Final = 3600.0
"""What is missing an hour after the answer is not looked for again: CloudWatch's own delays are minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """An invocation whose trace is wanted. `sent_s` and `done_s` are Unix seconds by the client's clock.

    `others` are the trace ids of the session's other calls (None: one that is not known). `agent_exports`: spans of
    this agent were seen before, so that none of this call means that they are late.
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
    def of(cls, row: InvocationRow, others: Iterable[str | None] = (), *, agent_exports: bool = False) -> TracedCall:
        """The call that a stored invocation was. Of one whose end nobody saw, the beginning stands for it."""
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
class Patience:
    """How long to wait for spans, all in seconds.

    Looks are `interval_s` apart and end after `wait_s`. What is not there `horizon_s` after the answer will not come
    any more. Within `settle_s` of the answer a trace that looks whole is looked at once more. `why` says to whoever
    waits what the waiting is for; `remedy` how exporting is switched on. `is_told`: the service says of a process that
    it makes no spans, or ended with some, so that none need be waited for.
    """

    wait_s: float
    interval_s: float
    horizon_s: float
    settle_s: float = 0.0
    why: str = ""
    remedy: str = ""
    is_told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The trace of one invocation, or why there is none; then `trace` is empty, and marked so.

    `records` are the spans and messages as they are stored, one JSON text each. `unreadable` tells of records that are
    no spans although they look like it. `is_final`: whatever is missing is too late to come.
    """

    call: TracedCall
    state: str
    trace: Trace = field(repr=False)
    records: tuple[str, ...] = field(default=(), repr=False)
    unreadable: tuple[str, ...] = ()
    looks: int = 0
    is_final: bool = False

    def __post_init__(self) -> None:
        if self.state not in TRACE_STATES:
            raise ValueError(f"collecting ends {', '.join(TRACE_STATES)}, not {self.state!r}")

    @property
    def cut_records(self) -> int:
        """Spans and message records of which something was cut: it is longer than a log event or an exporter takes."""
        spans = sum("values_cut" in span.marks for span in self.trace.spans)
        return spans + sum(record.is_cut for record in self.trace.log_records)

    @property
    def is_complete(self) -> bool:
        """Whether looking again would bring nothing new."""
        return self.state == "found" or self.is_final

    @property
    def is_unconfigured(self) -> bool:
        """Whether spans are missing because exporting is not switched on, as far as can be told."""
        return self.state == "no_group" or (self.state == "exports_nothing" and not self.call.agent_exports)

    def sentence(self) -> str:
        """The outcome in a sentence, without what to do about it."""
        spans = len(self.trace.spans)
        match self.state:
            case "found":
                return f"{_count(spans, 'span')}, {_count(len(self.trace.log_records), 'message record')}."
            case "partial":
                return f"{_count(spans, 'span')} so far, and others are missing: parts of the breakdown are inferred."
            case "not_found_yet":
                return "No span of this invocation has arrived yet. Ask again in a while."
            case "lost":
                return "The agent could not hand its spans over, its log says why: look for “spans were not exported”."
            case "undelivered":
                return (
                    "The agent's process has not delivered its spans yet, and they are overdue. Ask again in a while."
                )
            case "died":
                return "The agent's process ended before its spans had left it, its log says how: they are gone."
            case "exports_nothing" if self.trace.log_records:
                found = _count(len(self.trace.log_records), "message record")
                return f"{found} of this invocation arrived, but no span."
            case "exports_nothing" if self.call.agent_exports:
                return "The agent exported no span for this invocation, although it did for others."
            case "exports_nothing":
                return "The agent exported no span for this invocation."
            case "no_group":
                return "The endpoint has no log group, so it never ran, and there are no spans."
            case _:
                return "The call was refused before it reached the agent, so it has no spans."


def trace_from(documents: Iterable[str | Mapping[str, Any]], *, trace_id: str | None) -> tuple[Trace, tuple[str, ...]]:
    """The trace in these records, and what of them could not be read.

    Of several traces the one of `trace_id`; where none has it (the agent began traces of its own), all as one.
    """
    batch = read_spans(list(documents))
    unreadable = tuple(f"{each.where}: {each.what}" for each in batch.problems)
    traces = Trace.of(batch.spans, batch.log_records)
    named = [trace for trace in traces if trace.trace_id == trace_id]
    if len(named) == 1:
        return named[0], unreadable
    return (traces[0] if len(traces) == 1 else Trace.one(batch.spans, batch.log_records)), unreadable


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
