"""The traces and starts of stored invocations, found in an agent's telemetry."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from ..agents import AgentEntry
from ..store import InvocationRow
from ..telemetry import AgentStart, CloudWatchSpans, NamedSource, find_agent_start
from ..telemetry.session_starts import SessionStartRecord, find_session_starts
from .context import Context
from .wait_line import WaitLine

if TYPE_CHECKING:
    from .trace_view import TraceView

_WITHOUT_WAITING: Final = 0


def find_traces(
    context: Context,
    entry: AgentEntry,
    rows: Sequence[InvocationRow],
    *,
    source: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[TraceView]:
    """Return the traces of an agent's stored invocations, in the order of the rows.

    Args:
        context: The workbench's resources.
        entry: The agent.
        rows: Its invocations.
        source: A plugin's span source to read instead of CloudWatch.
        progress: Called with a progress line while waiting for spans; displayed in the notebook by default.
    """
    from ..aws.token_counts import count_tokens
    from .trace_view import TraceView

    other_source = None if source is None else _span_source(context, source)
    traced = context.tracer.trace(entry, rows, source=other_source, progress=progress or WaitLine())
    return [
        TraceView(
            result,
            agent_name=entry.name,
            labels=result.row.labels,
            remedy=context.tracer.span_polling.remedy,
            count_tokens=partial(count_tokens, context.clients, region=entry.region),
            rules=context.rules,
            prices=context.prices,
            find_use=partial(context.runtime_uses.of, entry.arn, result.row, result.use),
        )
        for result in traced
    ]


def find_start(
    context: Context, entry: AgentEntry, invocation_id: int, *, progress: Callable[[str], None] | None = None
) -> AgentStart:
    """Find in the logs when the agent started an invocation; wait for as long as the settings allow.

    Args:
        context: The workbench's resources.
        entry: The agent.
        invocation_id: The stored invocation.
        progress: Called with a line at each lookup; displayed in the notebook by default.
    """
    attempts = context.settings.log_poll_attempts
    # The settings' interval is meant for CloudWatch; an environment with faster logs shortens it, never lengthens it.
    interval_s = min(context.environment.poll_interval_s(attempts) or inf, context.settings.log_poll_interval_s)
    show = progress or WaitLine()

    def report(lookup: int, lookups: int, lines: int) -> None:
        show(f"Lookup {lookup} of {lookups} for the start line · {lines} log lines so far")

    return find_agent_start(
        context.store,
        context.log_reader,
        entry.arn,
        invocation_id,
        attempts=attempts,
        interval_s=interval_s,
        progress=report,
    )


def look_for_start(context: Context, entry: AgentEntry, invocation_id: int) -> AgentStart:
    """Look once for the agent's start in the logs, without waiting.

    Args:
        context: The workbench's resources.
        entry: The agent's entry in the catalog.
        invocation_id: The stored invocation.
    """
    return find_agent_start(context.store, context.log_reader, entry.arn, invocation_id, attempts=_WITHOUT_WAITING)


def first_session_starts(
    context: Context, entry: AgentEntry, session_ids: Sequence[str], *, qualifier: str
) -> dict[str, SessionStartRecord]:
    """Return how each session started first; only the local AgentCore records it. Wait as long as for spans.

    Args:
        context: The workbench's resources.
        entry: The agent.
        session_ids: The sessions, each with a stored invocation.
        qualifier: The endpoint.
    """
    if context.where != "local":
        return {}
    rows = [row for id in session_ids for row in context.store.invocations.list(session_id=id, limit=None)]
    sent_times = [row.client_invoke_time for row in rows if row.client_invoke_time is not None]
    span_polling = context.tracer.span_polling
    until = time.monotonic() + span_polling.wait_s
    starts: dict[str, list[SessionStartRecord]] = {}
    while sent_times:
        starts = find_session_starts(
            context.clients, entry.arn, session_ids, qualifier=qualifier, start_s=min(sent_times)
        )
        if len(starts) == len(set(session_ids)) or time.monotonic() >= until:
            break
        time.sleep(span_polling.interval_s)
    return {session_id: records[0] for session_id, records in starts.items()}


def _span_source(context: Context, name: str) -> NamedSource | None:
    reader = context.plugins.get("span_sources", name)
    # The collector reads CloudWatch itself: it knows which logs explain why spans are missing there.
    return None if isinstance(reader, CloudWatchSpans) else NamedSource(name=name, read=reader)
