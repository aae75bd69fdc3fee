"""The numbers as a reader wants them: value, interval, n, and what must be said beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..presentation.formats import milliseconds, money, number, percent, plural
from ..statistics import Estimate
from .figures import NUMBERS, Figures

TITLES: Final = {
    "invocations": "invocations",
    "sessions": "sessions",
    "error_rate": "error rate",
    "cold_start_mean_ms": "average cold start",
    "cold_start_p90_ms": "p90 cold start",
    "duration_p50_ms": "median answer",
    "duration_p90_ms": "p90 answer",
    "cost": "cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One number on top of a page: its name (of `NUMBERS`, or "agents"), title, value, and a note below."""

    name: str
    title: str
    value: str
    note: str = ""


def headlines(figures: Figures, *, agents: int | None = None) -> tuple[Headline, ...]:
    """The numbers on top; those that are not known say why."""
    open_calls = f", {figures.open} under way" if figures.open else ""
    cut_off = f", {figures.interrupted} interrupted" if figures.interrupted else ""
    found = [] if agents is None else [Headline(name="agents", title="agents", value=number(agents, 0))]
    found.append(
        Headline(
            name="invocations",
            title=TITLES["invocations"],
            value=number(figures.invocations, 0),
            note=f"in {plural(figures.sessions, 'session')}{open_calls}{cut_off}",
        )
    )
    known = f"of {number(figures.cold_start_mean.n, 0)} of {plural(figures.sessions, 'session')}"
    for name, note in (
        ("cold_start_mean_ms", known),
        ("cold_start_p90_ms", known),
        ("error_rate", f"{number(figures.failed, 0)} of {number(figures.failed + figures.complete, 0)} ended calls"),
        ("duration_p50_ms", f"n = {number(figures.duration_p50.n, 0)}"),
        ("duration_p90_ms", f"n = {number(figures.duration_p90.n, 0)}"),
    ):
        found.append(Headline(name=name, title=TITLES[name], value=said(name, figures.number(name)), note=note))
    return (*found, Headline(name="cost", title="cost", value=_cost(figures), note=_cost_note(figures)))


def said(name: str, estimate: Estimate) -> str:
    """A number of `NUMBERS` with unit and interval, or why it is not known."""
    unit = NUMBERS[name]
    if estimate.value is None or estimate.low is None or estimate.high is None:
        needed = f" (n = {estimate.n}, {estimate.needed_n} needed)" if estimate.needed_n and estimate.n else ""
        return f"{estimate.reason}{needed}"
    if unit == "share":
        return estimate.text("share")
    if unit == "ms":
        return estimate.text("ms")
    if unit == "USD":
        return f"{'at least ' if estimate.open_above else ''}{said_limit(name, estimate.value)}"
    return number(estimate.value, 0)


def said_limit(name: str, value: float) -> str:
    """A limit in the unit of a number: 5 %, 900 ms, $2.00."""
    unit = NUMBERS[name]
    if unit == "share":
        return percent(value)
    if unit == "ms":
        return milliseconds(value)
    if unit == "USD":
        return money(value)
    return number(value, 0)


def sentence(figures: Figures) -> str:
    """How it went, in one or two sentences."""
    if not figures.invocations:
        return "Nothing was asked in this time."
    ended = figures.failed + figures.complete
    parts = [f"{plural(figures.invocations, 'invocation')} in {plural(figures.sessions, 'session')}"]
    if ended:
        share = said("error_rate", figures.error_rate)
        parts.append("none failed" if not figures.failed else f"{number(figures.failed, 0)} failed ({share})")
    told = ", ".join(parts) + "."
    if figures.cold_start_mean.is_known:
        cold = said("cold_start_mean_ms", figures.cold_start_mean)
        told += f" A new session cost {cold} on average before the agent started."
    elif figures.sessions:
        told += f" Cold start: {said('cold_start_mean_ms', figures.cold_start_mean)}."
    return told


def _cost(figures: Figures) -> str:
    return (
        str(figures.cost) if figures.cost.known or figures.priced or figures.cost.unknown or figures.unreached else "–"
    )


def _cost_note(figures: Figures) -> str:
    ended = figures.failed + figures.complete + figures.interrupted
    parts = [f"{number(figures.priced, 0)} of {number(ended - figures.unreached, 0)} calls priced"]
    parts += [f"{number(figures.simulated, 0)} simulated"] if figures.simulated else []
    parts += [f"{number(figures.unreached, 0)} never reached the agent and cost nothing"] if figures.unreached else []
    return ", ".join(parts)
