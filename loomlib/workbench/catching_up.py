"""Look up missing data of an overview: agents' starts, traces and costs that were not looked up before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..agents import AgentEntry
from ..errors import LoomError
from ..presentation.formats import plural
from ..telemetry.trace_lookup import FINAL_AFTER_S
from ..wall_clock import OF_THIS_PROCESS
from .context import Context
from .tracing import find_traces, look_for_start

if TYPE_CHECKING:
    from ..metrics import Window
    from .trace_view import TraceView

_AT_ONCE = 25
"""Traces per query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """How many starts and calls were looked up and found, and what failed (message and count)."""

    starts_looked: int
    starts_found: int
    calls_looked: int
    calls_priced: int
    failures: tuple[tuple[str, int], ...] = ()

    def sentence(self) -> str:
        """Return the outcome in one line."""
        parts = [
            f"{self.starts_found} of {plural(self.starts_looked, 'start')} found",
            f"{self.calls_priced} of {plural(self.calls_looked, 'call')} priced",
            *(f"{sentence} ({count} ×)" for sentence, count in self.failures),
        ]
        return " · ".join(parts) if self.starts_looked or self.calls_looked else "Nothing was missing."


def catch_up(
    context: Context,
    entries: Sequence[AgentEntry],
    window: Window,
    *,
    limit: int,
    progress: Callable[[str], None] | None,
) -> CaughtUp:
    """Look up missing starts, traces and costs, as `BenchTelemetry.catch_up` documents it.

    Args:
        context: The workbench's resources.
        entries: The agents.
        window: The time range of the invocations.
        limit: Maximum number of sessions, and of calls, to look up per agent, newest first.
        progress: Called with a line for each agent.
    """
    failures: Counter[str] = Counter()
    starts_looked = starts_found = calls_looked = calls_priced = 0
    for entry in entries:
        for id in context.store.figures.without_start_lookup(entry.id, window.since, window.until, limit=limit):
            starts_looked += 1
            try:
                starts_found += look_for_start(context, entry, id).state == "found"
            except LoomError as error:
                failures[f"{entry.name}: {error}"] += 1
                break  # the other lookups would fail the same way
        unpriced = context.store.figures.unpriced(entry.id, window.since, window.until, limit=limit)
        for at in range(0, len(unpriced), _AT_ONCE):
            ids = unpriced[at : at + _AT_ONCE]
            calls_looked += len(ids)
            try:
                calls_priced += _price(context, entry, ids, progress)
            except LoomError as error:
                failures[f"{entry.name}: {error}"] += 1
                break
        if progress is not None:
            progress(
                f"{entry.name}: {plural(starts_found, 'start')} found, {plural(calls_priced, 'call')} priced so far"
            )
    return CaughtUp(
        starts_looked=starts_looked,
        starts_found=starts_found,
        calls_looked=calls_looked,
        calls_priced=calls_priced,
        failures=tuple(failures.items()),
    )


def _price(context: Context, entry: AgentEntry, ids: Sequence[int], progress: Callable[[str], None] | None) -> int:
    rows = [row for id in ids if (row := context.store.invocations.get(id)) is not None]
    traced = find_traces(context, entry, rows, progress=progress or _silently)
    settled = {
        row.id for row in rows if row.client_done_time and OF_THIS_PROCESS.age_s(row.client_done_time) > FINAL_AFTER_S
    }
    return sum(
        _store_cost(context, view, is_settled=view.invocation_id in settled) for view in traced if view.state == "found"
    )


def _store_cost(context: Context, view: TraceView, *, is_settled: bool) -> bool:
    """Store a call's cost; for a settled call also that it is unknown, so that it is not looked up again."""
    cost = view.cost()
    total = cost.total
    nothing = total.state == "unknown" and not cost.lines
    if nothing and not is_settled:
        return False
    context.store.figures.put_cost(
        view.invocation_id,
        known=total.known,
        unknown=total.unknown,
        is_estimate=total.is_estimate,
        is_simulated=cost.is_simulated,
        currency=cost.currency,
    )
    return not nothing


def _silently(line: str) -> None:
    """Discard progress."""
