"""One invocation's cost in a cost book, and sums as rows of a table and of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from loomlib.presentation import formats
from loomlib.presentation.formats import money, number
from loomlib.telemetry.cost import KINDS, Amount, Cost, CostTotal, RuntimeUse, total_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEntry:
    """The cost of one invocation.

    Attributes:
        agent: The agent's name.
        day: The day (UTC).
        cost: The cost; None without spans: unknown, not zero.
        simulated: Whether a scripted model answered.
    """

    agent: str
    day: date
    cost: Cost | None
    simulated: bool


def known_sum(entries: Sequence[CostEntry]) -> Amount:
    """Return the known cost of some invocations; one without spans counts as unknown."""
    total = total_cost(entry.cost for entry in entries if entry.cost is not None).amount
    return total + Amount(unknown=sum(entry.cost is None for entry in entries), currency=total.currency)


def day_row(agent: str, day: date, entries: Sequence[CostEntry]) -> dict[str, str]:
    """Return an agent's day as text.

    Args:
        agent: The agent's name.
        day: The day.
        entries: The agent's calls of that day.

    Returns:
        One text for each column; "unknown" where no call has the quantity.
    """
    total = total_cost(entry.cost for entry in entries if entry.cost is not None)
    blind = sum(entry.cost is None for entry in entries)
    simulated = sum(entry.simulated for entry in entries)
    remarks = [f"simulated {simulated}"] * bool(simulated) + [f"without spans {blind}"] * bool(blind)
    cached = total.tokens.get("cache_read", 0) + total.tokens.get("cache_write", 0) if total.invocations else 0
    return {
        "agent": agent,
        "day": formats.day(day),
        "calls": number(len(entries), 0),
        "tokens read": number(total.tokens["input"], 0) if total.invocations else "unknown",
        "written": number(total.tokens["output"], 0) if total.invocations else "unknown",
        "cached": number(cached, 0) if total.invocations else "unknown",
        "models": str(total.model) if total.invocations else "unknown",
        "runtime": "unknown" if total.runtime.state == "unknown" or not total.invocations else str(total.runtime),
        "models, a call": money(float(total.model.known) / total.invocations, total.model.currency)
        if total.invocations and not total.model.unknown
        else "unknown",
        "remarks": ", ".join(remarks) or "–",
    }


def plain_total(total: CostTotal, blind: int) -> dict[str, Any]:
    """Return a sum as JSON-ready values.

    Args:
        total: The sum.
        blind: How many invocations without spans are not in it.
    """
    return {**total.row(), "without_spans": blind, "tokens": {kind: total.tokens.get(kind, 0) for kind in KINDS}}


def estimated_use(duration_ms: float | None, active_vcpus: float, memory_gb: float) -> RuntimeUse | None:
    """Estimate CPU and memory of one invocation; None when there is no basis for an estimate.

    Args:
        duration_ms: Duration of the invocation; None when it has not ended.
        active_vcpus: Assumed use of vCPUs while the invocation runs; 0 when unknown.
        memory_gb: Assumed memory in GB; 0 when unknown.
    """
    if duration_ms is None or not (active_vcpus or memory_gb):
        return None
    return RuntimeUse.during(duration_ms / 1e3, active_vcpus=active_vcpus or None, memory_gb=memory_gb or None)


def day_of(seconds: float | None) -> date | None:
    """Return the day (UTC) of Unix seconds."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).date()
