"""An agent's telemetry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..errors import LoomError
from ..telemetry.processes import list_processes
from .agent_queries import AgentQueries
from .context import Context
from .frames import log_frame, session_frame
from .telemetry_views import ProcessesView
from .tracing import find_traces

if TYPE_CHECKING:
    import pandas as pd

    from ..latency.economics import SessionTraffic
    from .overview import AgentOverview
    from .traces import Traces


class AgentTelemetry:
    """Log lines, traces, queries, processes and figures of one agent; `agent.telemetry`."""

    def __init__(self, context: Context, entry: AgentEntry, qualifier: str) -> None:
        self._context, self._entry, self._qualifier = context, entry, qualifier

    def logs(
        self,
        *,
        session_id: str | None = None,
        limit: int = 100,
        start: datetime | None = None,
        end: datetime | None = None,
        qualifier: str | None = None,
    ) -> pd.DataFrame:
        """Return the newest log events, oldest first: timestamp, level, message, session_id, request_id, stream.

        Args:
            session_id: Only lines of the processes that served this session, including lines that do not name it.
            limit: Maximum number of log events.
            start: Only events at or after this time.
            end: Only events before this time.
            qualifier: The endpoint; the agent object's by default.
        """
        endpoint, reader, arn = qualifier or self._qualifier, self._context.log_reader, self._entry.arn
        if session_id is None:
            return log_frame(reader.agent_logs(arn, endpoint, start=start, end=end, limit=limit))
        return log_frame(reader.session_logs(arn, endpoint, session_id, start=start, end=end, limit=limit))

    def traces(
        self,
        last: int = 20,
        *,
        session_id: str | None = None,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Traces:
        """Return the traces of the `last` stored invocations, newest first.

        Complete traces come from the store; the others share one query. The call waits for spans that have not arrived
        yet, as `Invocation.trace` does.

            agent.telemetry.traces(last=100).parts()

        Args:
            last: Number of invocations.
            session_id: Only those of this session.
            source: A plugin's span source to read instead of CloudWatch.
            progress: Called with a progress line while waiting for spans.
        """
        from .traces import Traces

        if last < 1:
            raise ValueError(f"last must be at least 1, not {last}")
        rows = self._context.store.invocations.list(self._entry.id, session_id, limit=last)
        views = find_traces(self._context, self._entry, rows, source=source, progress=progress)
        return Traces(views, agent_name=self._entry.name, labels=self._context.labels)

    def queries(self) -> AgentQueries:
        """Return ready-made Insights queries: duration percentiles, tool frequency, cold starts, slowest sessions."""
        return AgentQueries(self._entry, self._context.clients, qualifier=self._qualifier)

    def processes(self, *, hours: float = 24.0) -> ProcessesView:
        """Return the processes (microVMs) that logged in the last hours, each from its first line to its last.

        The result says how sessions relate to invocations, and how many cold boots there were.

        Args:
            hours: How far back to read the log streams.

        Raises:
            ValueError: `hours` is NaN, or leads to a time that the calendar does not have.
        """
        try:
            start = datetime.now(UTC) - timedelta(hours=hours)
        except (OverflowError, ValueError) as error:
            raise ValueError(f"hours must be a number of hours since the year 1, not {hours}") from error
        processes = list_processes(self._context.clients, self._entry.arn, self._qualifier, start=start)
        return ProcessesView(processes, title=f"{self._entry.name} · {self._qualifier}")

    def traffic(self, since: datetime | timedelta | None = None) -> SessionTraffic:
        """Return the traffic of the stored calls, excluding studies, for `bench.telemetry.start_economics`.

        Sessions are assumed to be evenly spread between the first call and the last one.

        Args:
            since: Only calls at or after this time; a timedelta counts back from now. All calls by default.

        Raises:
            ValueError: No session has two calls, so the think time is unknown; or `since` has no time zone.
        """
        from .start_economics import observed_traffic

        return observed_traffic(self._context, self._entry, since)

    def overview(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        bins: int = 30,
        logs: int = 20,
    ) -> AgentOverview:
        """Return the agent's figures, sessions, latency over time and newest log lines.

        Only the log lines are read from the service; they are those of this object's endpoint. The rest comes from the
        store, and covers all endpoints. The sessions are the newest 1,000 with a call in the window.

            agent.telemetry.overview(since=timedelta(hours=24)).latency()

        Args:
            since: Start of the window, or a timedelta before now; unbounded by default.
            until: End of the window, or a timedelta before now; now by default.
            bins: Approximate number of latency bins.
            logs: Number of log lines to read; 0 for none.
        """
        from ..metrics import Window, latency_bins, read_figures
        from .overview import AgentOverview

        store, entry, now = self._context.store, self._entry, datetime.now(UTC)
        window = Window.of(since, until, now=now)
        problem, lines = "", log_frame(())
        if logs > 0:
            try:
                lines = log_frame(
                    self._context.log_reader.agent_logs(
                        entry.arn, self._qualifier, start=window.since, end=window.until, limit=logs
                    )
                )
            except LoomError as error:
                problem = f"The log could not be read: {error}"
        return AgentOverview(
            entry=entry,
            qualifier=self._qualifier,
            window=window,
            labels=self._context.labels,
            figures=read_figures(store, [entry.id], window).total,
            bins=latency_bins(store.call_figures.times(entry.id, window.since, window.until), window, bins=bins),
            sessions=session_frame(
                store.invocations.sessions(entry.id, limit=1_000, since=window.since, until=window.until)
            ),
            logs=lines,
            logs_problem=problem,
            taken_at=now,
        )
