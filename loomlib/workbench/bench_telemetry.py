"""Telemetry of a workbench's agents: figures from the store, traces, and the rules and prices applied to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..store import InvocationRow
from ..store.call_search import CallFilter, SearchOrder
from .bench_history import BenchHistory
from .context import Context
from .frames import rows_frame
from .tracing import find_traces
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd

    from ..latency.economics import (
        MeasuredStarts,
        Moment,
        SessionTraffic,
        StartAssumptions,
        StartEconomics,
        StartPolicy,
    )
    from ..metrics import AgentFigures
    from .catching_up import CaughtUp
    from .overview import Overview
    from .trace_view import TraceView


class BenchTelemetry:
    """Telemetry of a workbench's agents; `bench.telemetry`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def history(self) -> BenchHistory:
        """The long history: export of invocations to Parquet files, and SQL over them and the store."""
        return BenchHistory(self._context)

    def overview(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        agents: Sequence[str] | None = None,
    ) -> Overview:
        """Return invocations, latency, cold starts, error rate and cost of agents over a time window.

        The figures come from the store; AgentCore is not called. Cold starts and costs are known only for calls that
        were looked up before; `catch_up()` looks up the others.

            bench.telemetry.overview(since=timedelta(hours=24))

        Args:
            since: Start of the window, or a timedelta before now; unbounded by default.
            until: End of the window, or a timedelta before now; now by default.
            agents: Names, runtime ids, ARNs, or groups (`group:team-a`); all agents by default.
        """
        from ..metrics import Window
        from .overview import Overview

        context, now = self._context, datetime.now(UTC)
        window = Window.of(since, until, now=now)
        entries = self._entries(agents)
        return Overview(
            title=f"{context.where} · {context.clients.region}" if context.where == "aws" else "local AgentCore",
            window=window,
            labels=context.labels,
            entries=entries,
            figures=self.figures(entries, since=window.since, until=window.until),
            taken_at=now,
        )

    def figures(
        self, entries: Sequence[AgentEntry], *, since: datetime | None = None, until: datetime | None = None
    ) -> AgentFigures:
        """Return the figures of these agents as values (see `loomlib.metrics`).

        Args:
            entries: The agents.
            since: The window's start; the beginning by default.
            until: The window's end; open by default.
        """
        from ..metrics import Window, read_figures

        return read_figures(self._context.store, [entry.id for entry in entries], Window(since=since, until=until))

    def catch_up(
        self,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 50,
        progress: Callable[[str], None] | None = None,
    ) -> CaughtUp:
        """Look up missing data for an overview: agents' starts in logs, traces, and costs.

        On AWS, this reads CloudWatch. A lookup that fails is counted with its message, and the others continue.

            bench.telemetry.catch_up(); bench.telemetry.overview()

        Args:
            since: Start of the window, or a timedelta before now; unbounded by default.
            until: End of the window, or a timedelta before now; now by default.
            agents: Names, runtime ids, ARNs, or groups (`group:team-a`); all agents by default.
            limit: Maximum number of sessions, and of calls, to look up per agent, newest first.
            progress: Called with a line for each agent.
        """
        from ..metrics import Window
        from .catching_up import catch_up

        window = Window.of(since, until)
        return catch_up(self._context, self._entries(agents), window, limit=limit, progress=progress or WaitLine())

    def search_traces(
        self,
        *,
        agents: Sequence[str] | None = None,
        since: datetime | timedelta | None = None,
        until: datetime | timedelta | None = None,
        failed: bool | None = None,
        failure: str | None = None,
        min_duration_ms: float | None = None,
        session_id: str | None = None,
        trace_id: str | None = None,
        order: SearchOrder = "newest",
        limit: int = 100,
    ) -> pd.DataFrame:
        """Search the stored invocations and their traces, of all agents or some.

        Only the store is read. `bench.agent(name).history.get(invocation_id).trace()` returns a trace;
        `bench.telemetry.history.query` searches the exported history and the texts.

            bench.telemetry.search_traces(failed=True, since=timedelta(days=1))
            bench.telemetry.search_traces(order="slowest", limit=10)

        Args:
            agents: Names, runtime ids, ARNs, or groups (`group:team-a`); all agents by default.
            since: Only invocations sent at or after this time; a timedelta counts back from now.
            until: Only invocations sent before this time; a timedelta counts back from now.
            failed: Only invocations that failed or, if false, only those that did not fail.
            failure: Only those with this failure class, such as "timeout".
            min_duration_ms: Only those that took at least this many milliseconds.
            session_id: Only those of this session.
            trace_id: Only the one with this trace id.
            order: "newest" or "slowest" first.
            limit: Maximum number of rows.
        """
        from ..metrics import Window
        from .frames import found_call_frame

        if order not in ("newest", "slowest"):
            raise ValueError(f"the order must be newest or slowest, not {order!r}")
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        window = Window.of(since, until)
        call_filter = CallFilter(
            agent_ids=None if agents is None else tuple(entry.id for entry in self._entries(agents)),
            since=window.since,
            until=window.until,
            failed=failed,
            failure=failure,
            min_duration_ms=min_duration_ms,
            session_id=session_id,
            trace_id=trace_id,
        )
        return found_call_frame(self._context.store.call_search.find(call_filter, order=order, limit=limit))

    def session_count(self) -> int | None:
        """Return the number of active runtime sessions, or None on AWS, which has no such operation."""
        return self._context.environment.session_count()

    def rules(self) -> pd.DataFrame:
        """Return the rules of `findings()`: question, threshold, advice and source, one row each.

        A `rules.toml` in the home folder changes them; plugins add to them.
        """
        return rows_frame(self._context.rules.table())

    def prices(self) -> pd.DataFrame:
        """Return the prices that `cost()` uses, in USD per million tokens, each with its source and date.

        A `prices.toml` in the home folder overrides the shipped ones.
        """
        return rows_frame(self._context.prices.table())

    def start_economics(
        self,
        calls: str | Sequence[MeasuredStarts],
        traffic: SessionTraffic,
        *,
        policies: Iterable[StartPolicy] | None = None,
        assumptions: StartAssumptions | None = None,
        prices: str | Path | None = None,
        max_p90_ms: float = 0.0,
        moment: Moment = "answer",
        seed: int = 0,
    ) -> StartEconomics:
        """Return the cost of keeping sessions warm, and the effect on latency, from a stored study.

        Durations come from the study, CPU time and memory from the usage logs of its calls. The cost on Lambda, Fargate
        and other hosts is given too.

            from loomlib.latency.economics import SessionTraffic, ThinkTimes

            traffic = SessionTraffic(sessions_per_day=2000, calls_per_session=5, think=ThinkTimes.exponential(60))
            bench.telemetry.start_economics(study.study_id, traffic, max_p90_ms=1000)

        Args:
            calls: The id of a latency study, a study of pre-warmed sessions, or a study of session starts (V1 and V2);
                or calls that were measured elsewhere (`MeasuredStarts.given`).
            traffic: The traffic; `agent.telemetry.traffic()` is that of an agent's stored calls.
            policies: The policies; by default those of `loomlib.latency.economics.usual_policies`.
            assumptions: Assumptions in addition to measurements and prices.
            prices: A file of your own prices; by default `prices.toml` in the home folder, if it exists.
            max_p90_ms: The latency that 9 of 10 calls must not exceed, in milliseconds; 0 for no limit.
            moment: The end of the measured latency: "answer" (its end) or "first byte".
            seed: Seed of the bootstrap.

        Raises:
            StudyError: No study with this id is stored, or it has no cold and warm calls.
            SettingsError: The price file is invalid.
        """
        from ..latency.economics import compare_policies
        from ..telemetry.cost import price_table
        from .start_economics import study_starts

        return compare_policies(
            study_starts(self._context, calls) if isinstance(calls, str) else calls,
            traffic,
            policies=policies,
            assumptions=assumptions,
            prices=self._context.prices if prices is None else price_table(prices),
            max_p90_ms=max_p90_ms,
            moment=moment,
            seed=seed,
        )

    def find_traces(
        self,
        entry: AgentEntry,
        rows: Sequence[InvocationRow],
        *,
        source: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[TraceView]:
        """Return the traces of an agent's stored invocations, in the order of the rows (see `Invocation.trace`).

        Args:
            entry: The agent.
            rows: Its invocations.
            source: A plugin's span source to read instead of CloudWatch.
            progress: Called with a progress line while waiting for spans.
        """
        return find_traces(self._context, entry, rows, source=source, progress=progress)

    def _entries(self, agents: Sequence[str] | None) -> tuple[AgentEntry, ...]:
        catalog = self._context.catalog
        return catalog.list() if agents is None else catalog.select(agents)
