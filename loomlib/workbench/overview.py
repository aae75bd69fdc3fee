"""How agents are doing: the figures of several agents, and of one agent with its details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..metrics import AgentFigures, Bin, Figures, Headline, Window, headlines, sentence
from .frames import rows_frame
from .overview_page import BINS_SHOWN, Section, overview_page

if TYPE_CHECKING:
    import pandas as pd

    from ..agents import AgentEntry

_EMPTY = 'No agents yet. bench.deploy("calculator") deploys one in a few seconds.'
_SHOWN = 50
_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures of a workbench's agents over a time window; made by `bench.metrics.overview()`."""

    title: str
    window: Window
    labels: tuple[str, ...]
    entries: tuple[AgentEntry, ...] = field(repr=False)
    figures: AgentFigures = field(repr=False)
    taken_at: datetime

    @property
    def total(self) -> Figures:
        """The figures of all agents together."""
        return self.figures.total

    def agent(self, name: str) -> Figures:
        """Return the figures of the agent of that name, runtime id or ARN."""
        for each in self.entries:
            if name in (each.name, each.runtime_id, str(each.arn)):
                return self.figures.by_agent[each.id]
        raise KeyError(f"{name}: one of {', '.join(each.name for each in self.entries) or 'no agents'}")

    def headlines(self) -> tuple[Headline, ...]:
        """Return the figures at the top of the page."""
        return headlines(self.total, agents=len(self.entries))

    def sentence(self) -> str:
        """Return the result in a sentence or two."""
        return sentence(self.total) if self.entries else _EMPTY

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per agent as plain values; unknown figures are None."""
        return [
            {
                "agent": each.name,
                "status": each.status,
                "region": each.region,
                "runtime_id": each.runtime_id,
                **self.figures.by_agent[each.id].row(),
            }
            for each in self.entries
        ]

    def table(self) -> pd.DataFrame:
        """Return one row per agent: figures with their confidence intervals and n."""
        return rows_frame(self.rows(), ("agent", "status", "region", "runtime_id"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "title": self.title,
            "window": _moments(self.window),
            "labels": list(self.labels),
            "taken_at": self.taken_at.isoformat(),
            "sentence": self.sentence(),
            "headlines": [_headline(each) for each in self.headlines()],
            "total": self.total.row(),
            "agents": self.rows(),
        }

    def __repr__(self) -> str:
        lines = [f"{self.title} · {self.window}", self.sentence()]
        lines += [f"{each.title}: {each.value}{f' ({each.note})' if each.note else ''}" for each in self.headlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ("agent", "status", "region", *(each.title for each in headlines(self.total)))
        rows = [
            (
                each.name,
                each.status,
                each.region,
                *(one.value for one in headlines(self.figures.by_agent[each.id])),
            )
            for each in self.entries[:_SHOWN]
        ]
        return overview_page(
            f"{self.title} · {self.window}",
            self.labels,
            self.sentence(),
            self.headlines() if self.entries else (),
            Section(head, rows, more=len(self.entries) - len(rows)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOverview:
    """One agent's figures, sessions, latency over time and newest log lines; `agent.telemetry.overview()`.

    `logs_problem` says why log lines could not be read.
    """

    entry: AgentEntry
    qualifier: str
    window: Window
    labels: tuple[str, ...]
    figures: Figures
    bins: tuple[Bin, ...] = field(repr=False)
    sessions: pd.DataFrame = field(repr=False)
    logs: pd.DataFrame = field(repr=False)
    logs_problem: str = ""
    taken_at: datetime

    @property
    def metadata(self) -> dict[str, str]:
        """What is known about the runtime, as text."""
        raw, entry = self.entry.raw_metadata, self.entry
        found = {
            "name": entry.name,
            "status": entry.status,
            "ARN": str(entry.arn),
            "runtime id": entry.runtime_id,
            "region": entry.region,
            "account": entry.arn.account_id,
            "qualifiers": ", ".join(entry.qualifiers),
            "version": str(raw.get("agentRuntimeVersion", "")),
            "log group": entry.log_group(self.qualifier),
            "registered": f"{entry.registered_at:%Y-%m-%d %H:%M:%S} UTC",
            "last refreshed": f"{entry.last_refreshed_at:%Y-%m-%d %H:%M:%S} UTC" if entry.last_refreshed_at else "",
        }
        return {name: value for name, value in found.items() if value}

    def headlines(self) -> tuple[Headline, ...]:
        """Return the figures at the top of the page."""
        return headlines(self.figures)

    def sentence(self) -> str:
        """Return the result in a sentence or two."""
        return sentence(self.figures)

    def latency(self) -> pd.DataFrame:
        """Return one row per time bin: n, failures, median and p90 with their confidence intervals."""
        return rows_frame([each.row() for each in self.bins], ("start", "end", "n", "failed", "p50_ms", "p90_ms"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything except sessions and log lines, ready for JSON."""
        return {
            "title": self.entry.name,
            "window": _moments(self.window),
            "labels": list(self.labels),
            "taken_at": self.taken_at.isoformat(),
            "sentence": self.sentence(),
            "headlines": [_headline(each) for each in self.headlines()],
            "figures": self.figures.row(),
            "failures": dict(self.figures.failures),
            "metadata": self.metadata,
            "latency": [
                {**each.row(), "start": each.start.isoformat(), "end": each.end.isoformat()} for each in self.bins
            ],
            "logs_problem": self.logs_problem,
        }

    def __repr__(self) -> str:
        lines = [f"{self.entry.name} · {self.qualifier} · {self.window}", self.sentence()]
        lines += [f"{each.title}: {each.value}{f' ({each.note})' if each.note else ''}" for each in self.headlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        bins = [
            (bin.start.strftime("%Y-%m-%d %H:%M:%S"), bin.n, bin.failed, bin.p50.text("ms"), bin.p90.text("ms"))
            for bin in self.bins[-BINS_SHOWN:]
        ]
        sessions = _cells(self.sessions.head(_LINES), ("session_id", "invocations", "failed", "last_done"))
        lines = _cells(self.logs.tail(_LINES), ("timestamp", "level", "message"))
        return overview_page(
            f"{self.entry.name} · {self.qualifier} · {self.window}",
            self.labels,
            self.sentence(),
            self.headlines(),
            Section((), list(self.metadata.items())),
            Section(("failure", "calls"), list(self.figures.failures.items())),
            Section(
                ("from (UTC)", "n", "failed", "median", "p90"),
                bins,
                title="Latency over time",
                more=len(self.bins) - len(bins),
            ),
            Section(*sessions, title="Sessions", more=max(0, len(self.sessions) - _LINES)),
            Section(*lines, title="Recent log lines"),
            note=self.logs_problem,
        )


def _cells(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    shown = frame[list(columns)] if len(frame) else frame
    return columns, [tuple(str(cell) for cell in row) for row in shown.itertuples(index=False, name=None)]


def _headline(found: Headline) -> dict[str, str]:
    return {"name": found.name, "title": found.title, "value": found.value, "note": found.note}


def _moments(window: Window) -> dict[str, str | None]:
    return {
        "since": window.since.isoformat() if window.since else None,
        "until": window.until.isoformat() if window.until else None,
        "text": str(window),
    }
