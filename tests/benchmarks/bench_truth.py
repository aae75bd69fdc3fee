"""Planted delays beside the buckets of `inv.trace()`: how far each is off, by the clock of the agent itself."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import loomlib as loom
from loomlib import local

from ..service.telemetry.truth.planted import AGENT, BUCKETS, CONVENTIONS, Comparison, compare
from .table import Row, ms

_TOLERANCE_MS = 5.0


def rows(calls: int = 50, sessions: int = 20, cold: int = 10) -> Iterator[Row]:
    """Warm calls one by one and of many sessions at once, and cold ones, half of each under either convention."""
    alone: list[Comparison] = []
    at_once: list[Comparison] = []
    cold_starts: list[Comparison] = []
    with tempfile.TemporaryDirectory(prefix="loom-bench-") as folder:
        home = Path(folder) / "home"
        with loom.connect(home=home) as bench:
            for name, environment in CONVENTIONS.items():
                agent = bench.deploy(AGENT, name=f"timed_{name}", environment=environment)
                first = [_ask(agent) for _ in range(cold // 2)]
                cold_starts += _compared(agent, first)
                session = first[0].session_id
                alone += _compared(agent, [_ask(agent, session) for _ in range(calls // 2)])
                others = asyncio.run(_ask_at_once(agent, [None] * sessions))
                again = asyncio.run(_ask_at_once(agent, [inv.session_id for inv in others]))
                at_once += _compared(agent, again)
                for inv in [*first, *others]:
                    agent.end_session(inv.session_id)
        local.stop(home)
    for how, comparisons in (("one by one", alone), (f"{sessions} sessions at once", at_once)):
        for bucket in BUCKETS[1:]:
            yield _row(f"{bucket} of a warm call, {how}", bucket, comparisons)
    yield _row("cold start, 300 ms of it planted", "cold_start", cold_starts)


def _ask(agent: loom.Agent, session: str | None = None) -> loom.Invocation:
    return agent.invoke("Weave.", session_id=session).raise_for_status()


async def _ask_at_once(agent: loom.Agent, sessions: Sequence[str | None]) -> list[loom.Invocation]:
    calls = [agent.ainvoke("Weave.", session_id=session) for session in sessions]
    return [inv.raise_for_status() for inv in await asyncio.gather(*calls)]


def _compared(agent: loom.Agent, calls: Sequence[loom.Invocation]) -> list[Comparison]:
    views = {view.invocation_id: view for view in agent.telemetry.traces(last=len(calls))}
    for inv in calls:
        breakdown = views[inv.record.id].breakdown()
        if sum(part.duration_ns for part in breakdown.parts) != round((inv.duration_ms or 0) * 1e6):
            raise RuntimeError(f"the parts of invocation {inv.record.id} do not add up to its duration")
    return [compare(inv, views[inv.record.id]) for inv in calls]


def _row(subject: str, bucket: str, comparisons: Sequence[Comparison]) -> Row:
    errors = [comparison.error_ms(bucket) for comparison in comparisons]
    within = sum(abs(error) <= _TOLERANCE_MS for error in errors)
    return Row(
        what=subject,
        ours=ms([comparison.traced[bucket] for comparison in comparisons]),
        reference=f"truth {ms([comparison.truth[bucket] for comparison in comparisons])}",
        compared=f"off by {median(errors):+.2f} ms, {within} of {len(errors)} within 5",
        aim="≤ 5 ms",
        met=abs(median(errors)) <= _TOLERANCE_MS,
        n=len(comparisons),
    )
