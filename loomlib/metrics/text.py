"""Metrics as text: values with units, intervals and n."""

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
    """A tile at the top of a page.

    Attributes:
        name: The metric (one of `NUMBERS`), or "agents".
        title: The metric's title.
        value: The value as text.
        note: A note below the value.
        observed: The value of the few observations themselves, where they are too few for an estimate.
    """

    name: str
    title: str
    value: str
    note: str = ""
    observed: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the tile, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "value": self.value,
            "note": self.note,
            "observed": self.observed,
        }


def headlines(figures: Figures, *, agents: int | None = None) -> tuple[Headline, ...]:
    """Return the tiles at the top of a page; an unknown value says why.

    Args:
        figures: The metrics.
        agents: Number of agents, for a tile of its own.
    """
    open_calls = f", {figures.open} under way" if figures.open else ""
    interrupted = f", {figures.interrupted} interrupted" if figures.interrupted else ""
    tiles = [] if agents is None else [Headline(name="agents", title="agents", value=number(agents, 0))]
    tiles.append(
        Headline(
            name="invocations",
            title=TITLES["invocations"],
            value=number(figures.invocations, 0),
            note=f"in {plural(figures.sessions, 'session')}{open_calls}{interrupted}",
        )
    )
    sessions_note = f"of {number(figures.cold_start_mean.n, 0)} of {plural(figures.sessions, 'session')}"
    for name, note in (
        ("cold_start_mean_ms", sessions_note),
        ("cold_start_p90_ms", sessions_note),
        (
            "error_rate",
            f"{number(figures.failed, 0)} of {number(figures.failed + figures.complete, 0)} ended invocations",
        ),
        ("duration_p50_ms", f"n = {number(figures.duration_p50.n, 0)}"),
        ("duration_p90_ms", f"n = {number(figures.duration_p90.n, 0)}"),
    ):
        tiles.append(
            Headline(
                name=name,
                title=TITLES[name],
                value=value_text(name, figures.number(name)),
                note=note,
                observed=limit_text(name, figures.observed[name]) if name in figures.observed else "",
            )
        )
    return (*tiles, Headline(name="cost", title="cost", value=_cost(figures), note=_cost_note(figures)))


def value_text(name: str, estimate: Estimate) -> str:
    """Return a metric's value with unit and interval, or why it is unknown.

    Args:
        name: The metric, one of `NUMBERS`.
        estimate: Its value.
    """
    unit = NUMBERS[name]
    if estimate.value is None or estimate.low is None or estimate.high is None:
        needed = f" (n = {estimate.n}, {estimate.needed_n} needed)" if estimate.needed_n and estimate.n else ""
        return f"{estimate.reason}{needed}"
    if unit == "share":
        return estimate.text("share")
    if unit == "ms":
        return estimate.text("ms")
    if unit == "USD":
        return f"{'at least ' if estimate.open_above else ''}{limit_text(name, estimate.value)}"
    return number(estimate.value, 0)


def limit_text(name: str, value: float) -> str:
    """Return a limit in the unit of a metric, such as 5 %, 900 ms or $2.00.

    Args:
        name: The metric, one of `NUMBERS`.
        value: The limit.
    """
    unit = NUMBERS[name]
    if unit == "share":
        return percent(value)
    if unit == "ms":
        return milliseconds(value)
    if unit == "USD":
        return money(value)
    return number(value, 0)


def sentence(figures: Figures) -> str:
    """Summarize metrics in one or two sentences."""
    if not figures.invocations:
        return "No invocations in this period."
    ended = figures.failed + figures.complete
    parts = [f"{plural(figures.invocations, 'invocation')} in {plural(figures.sessions, 'session')}"]
    if ended:
        share = value_text("error_rate", figures.error_rate)
        parts.append("none failed" if not figures.failed else f"{number(figures.failed, 0)} failed ({share})")
    text = ", ".join(parts) + "."
    if figures.cold_start_mean.is_known:
        cold = value_text("cold_start_mean_ms", figures.cold_start_mean)
        text += f" A new session took {cold} on average until the agent started."
    elif figures.sessions:
        text += f" Cold start: {value_text('cold_start_mean_ms', figures.cold_start_mean)}."
    return text


def _cost(figures: Figures) -> str:
    return (
        str(figures.cost) if figures.cost.known or figures.priced or figures.cost.unknown or figures.unreached else "–"
    )


def _cost_note(figures: Figures) -> str:
    ended = figures.failed + figures.complete + figures.interrupted
    parts = [f"{number(figures.priced, 0)} of {number(ended - figures.unreached, 0)} invocations priced"]
    parts += [f"{number(figures.simulated, 0)} simulated"] if figures.simulated else []
    parts += [f"{number(figures.unreached, 0)} did not reach the agent and cost nothing"] if figures.unreached else []
    return ", ".join(parts)
