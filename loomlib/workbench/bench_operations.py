"""The part of the workbench that says how its agents are doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ..errors import LoomError
from .bench_telemetry import BenchTelemetry

if TYPE_CHECKING:
    from ..agents import AgentEntry, Catalog
    from ..metrics import AgentFigures
    from ..telemetry import AgentStart, LogReader
    from .catching_up import CaughtUp
    from .overview import AgentOverview, Overview

_ONE_LOOK = 0


class BenchOperations(BenchTelemetry):
    """What `Workbench` offers about operating agents."""

    where: str
    labels: tuple[str, ...]
    catalog: Catalog
    log_reader: LogReader

    def overview(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        agents: Sequence[str] | None = None,
    ) -> Overview:
        """Agents, invocations, cold starts, error rate and cost of a time, all told unless `since` says otherwise.

        From what is stored: nothing is asked of the service. Cold starts and costs are known of the calls that
        somebody looked at; `catch_up()` looks at the others. `agents` are names, runtime ids or ARNs.

            bench.overview(since=timedelta(hours=24))
        """
        from ..metrics import Window
        from .overview import Overview

        now = datetime.now(UTC)
        window = Window.of(since, until, now=now)
        entries = self.catalog.list() if agents is None else tuple(self.catalog.get(each) for each in agents)
        return Overview(
            title=" · ".join((self.where, self.clients.region)) if self.where == "aws" else "local AgentCore",
            window=window,
            labels=self.labels,
            entries=entries,
            figures=self.read_figures(entries, since=window.since, until=window.until),
            taken_at=now,
        )

    def agent_overview(
        self,
        entry: AgentEntry,
        qualifier: str,
        since: datetime | timedelta | None,
        until: datetime | timedelta | None,
        *,
        bins: int,
        logs: int,
    ) -> AgentOverview:
        """One agent with its sessions, latency over time and log lines (see `Agent.overview`)."""
        from ..metrics import Window, latency_bins, read_figures
        from .frames import log_frame, session_frame
        from .overview import AgentOverview

        now = datetime.now(UTC)
        window = Window.of(since, until, now=now)
        problem, lines = "", log_frame(())
        if logs > 0:
            try:
                lines = log_frame(
                    self.log_reader.agent_logs(entry.arn, qualifier, start=window.since, end=window.until, limit=logs)
                )
            except LoomError as error:
                problem = f"The log could not be read: {error}"
        return AgentOverview(
            entry=entry,
            qualifier=qualifier,
            window=window,
            labels=self.labels,
            figures=read_figures(self.store, [entry.id], window).total,
            bins=latency_bins(self.store.figures.calls(entry.id, window.since, window.until), window, bins=bins),
            sessions=session_frame(
                each
                for each in self.store.invocations.sessions(entry.id, limit=1_000)
                if _within(each.first_invoke_time, each.last_done_time, window.since, window.until)
            ),
            logs=lines,
            logs_problem=problem,
            taken_at=now,
        )

    def read_figures(
        self, entries: Sequence[AgentEntry], *, since: datetime | None = None, until: datetime | None = None
    ) -> AgentFigures:
        """The numbers of these agents (see `loomlib.metrics`)."""
        from ..metrics import Window, read_figures

        return read_figures(self.store, [each.id for each in entries], Window(since=since, until=until))

    def catch_up(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 50,
        progress: Callable[[str], None] | None = None,
    ) -> CaughtUp:
        """Looks for what an overview lacks: agents' starts in their logs, traces, and what the calls cost.

        Of each agent the newest `limit` sessions and calls of which that is not known yet. On AWS these are reads of
        CloudWatch. One that fails is counted, with its sentence, and the others go on.

            bench.catch_up(); bench.overview()
        """
        from ..metrics import Window
        from .catching_up import catch_up
        from .wait_line import WaitLine

        window = Window.of(since, until)
        entries = self.catalog.list() if agents is None else [self.catalog.get(each) for each in agents]
        return catch_up(self, entries, window, limit=limit, progress=progress or WaitLine())

    def look_for_start(self, entry: AgentEntry, invocation_id: int) -> AgentStart:
        """One look for an agent's start, without waiting."""
        from ..telemetry import find_agent_start

        return find_agent_start(self.store, self.log_reader, entry.arn, invocation_id, attempts=_ONE_LOOK)


def _within(first: float | None, last: float | None, since: datetime | None, until: datetime | None) -> bool:
    if since is not None and (last if last is not None else first or 0.0) < since.timestamp():
        return False
    return until is None or (first or 0.0) < until.timestamp()
