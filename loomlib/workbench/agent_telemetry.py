"""What can be asked about an agent's telemetry, beside its logs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..agents import AgentEntry
    from .agent_queries import AgentQueries
    from .bench import Workbench
    from .overview import AgentOverview
    from .telemetry_views import LivesView
    from .traces import Traces


class AgentTelemetry:
    """The part of `Agent` that reads traces and metrics."""

    entry: AgentEntry
    bench: Workbench
    qualifier: str

    def traces(
        self,
        last: int = 20,
        *,
        session_id: str | None = None,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Traces:
        """The traces of the `last` stored invocations (of a session), newest first.

        Those that are kept whole come from the store; the others cost one query window together. Spans that are still
        on their way are waited for, as in `Invocation.trace`, which `source` is for too.

            agent.traces(last=100).parts()
        """
        from .traces import Traces

        if last < 1:
            raise ValueError(f"last must be at least 1, not {last}")
        rows = self.bench.store.invocations.list(self.entry.id, session_id, limit=last)
        views = self.bench.find_traces(self.entry, rows, source=source, progress=progress)
        return Traces(views, agent_name=self.entry.name, labels=self.bench.labels)

    def queries(self) -> AgentQueries:
        """Ready Logs Insights queries: duration percentiles, tool frequency, cold starts an hour, slowest sessions."""
        from .agent_queries import AgentQueries

        return AgentQueries(self.entry, self.bench.clients, qualifier=self.qualifier)

    def lives(self, *, hours: float = 24.0) -> LivesView:
        """The processes (microVMs) that wrote a line in the last `hours`: each one's whole life from its log stream.

        It says how sessions stand to invocations, and how many cold boots there were.
        """
        from ..telemetry.processes import list_processes
        from .telemetry_views import LivesView

        start = datetime.now(UTC) - timedelta(hours=hours)
        found = list_processes(self.bench.clients, self.entry.arn, self.qualifier, start=start)
        return LivesView(found, title=f"{self.entry.name} · {self.qualifier}")

    def overview(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        bins: int = 30,
        logs: int = 20,
    ) -> AgentOverview:
        """How the agent is doing: its numbers, sessions, latency over time in about `bins` bins, and `logs` log lines.

        Only the log lines are read from the service (`logs=0` reads none); the rest is what is stored.

            agent.overview(since=timedelta(hours=24)).latency()
        """
        return self.bench.agent_overview(self.entry, self.qualifier, since, until, bins=bins, logs=logs)
