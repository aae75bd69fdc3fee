"""Metrics of agents: all together, and one agent in detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry
from ..metrics import AgentFigures, Bin, Figures, Headline, Window, headlines, sentence
from ..presentation.formats import cell, timestamp
from .frames import rows_frame
from .overview_page import BINS_SHOWN, Section, overview_page

if TYPE_CHECKING:
    import pandas as pd


_EMPTY = 'No agents yet. bench.deploy("calculator") deploys one in a few seconds.'
_SHOWN = 50
_LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures of a workbench's agents over a time window; returned by `bench.telemetry.overview()`."""

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
        for entry in self.entries:
            if name in (entry.name, entry.runtime_id, str(entry.arn)):
                return self.figures.by_agent[entry.id]
        raise KeyError(f"{name}: one of {', '.join(entry.name for entry in self.entries) or 'no agents'}")

    def headlines(self) -> tuple[Headline, ...]:
        """Return the figures at the top of the page."""
        return headlines(self.total, agents=len(self.entries))

    def sentence(self) -> str:
        """Summarize the figures in one or two sentences."""
        return sentence(self.total) if self.entries else _EMPTY

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per agent as plain values; unknown figures are None."""
        return [
            {
                "agent": entry.name,
                "status": entry.status,
                "region": entry.region,
                "runtime_id": entry.runtime_id,
                **self.figures.by_agent[entry.id].row(),
            }
            for entry in self.entries
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
            "headlines": [headline.to_dict() for headline in self.headlines()],
            "total": self.total.row(),
            "agents": self.rows(),
        }

    def __repr__(self) -> str:
        lines = [f"{self.title} · {self.window}", self.sentence()]
        lines += [
            f"{headline.title}: {headline.value}{f' ({headline.note})' if headline.note else ''}"
            for headline in self.headlines()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ("agent", "status", "region", *(headline.title for headline in headlines(self.total)))
        rows = [
            (
                entry.name,
                entry.status,
                entry.region,
                *(one.value for one in headlines(self.figures.by_agent[entry.id])),
            )
            for entry in self.entries[:_SHOWN]
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

    `logs` are those of the endpoint `qualifier`, everything else is of all endpoints. `logs_problem` says why log lines
    could not be read.
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
        """The runtime's metadata as text."""
        raw, entry = self.entry.raw_metadata, self.entry
        metadata = {
            "name": entry.name,
            "status": entry.status,
            "ARN": str(entry.arn),
            "runtime id": entry.runtime_id,
            "region": entry.region,
            "account": entry.arn.account_id,
            "qualifiers": ", ".join(entry.qualifiers),
            "version": str(raw.get("agentRuntimeVersion", "")),
            "log group": entry.log_group(self.qualifier),
            "registered": timestamp(entry.registered_at),
            "last refreshed": timestamp(entry.last_refreshed_at) if entry.last_refreshed_at else "",
        }
        return {name: value for name, value in metadata.items() if value}

    @property
    def endpoints(self) -> str:
        """The endpoints as text: the only one, or all of them with the one of the log."""
        is_only = self.entry.qualifiers == (self.qualifier,)
        return self.qualifier if is_only else f"all endpoints (log of {self.qualifier})"

    def headlines(self) -> tuple[Headline, ...]:
        """Return the figures at the top of the page."""
        return headlines(self.figures)

    def sentence(self) -> str:
        """Summarize the figures in one or two sentences."""
        return sentence(self.figures)

    def latency(self) -> pd.DataFrame:
        """Return one row per time bin: n, failures, median and p90 with their confidence intervals."""
        return rows_frame([bin.row() for bin in self.bins], ("start", "end", "n", "failed", "p50_ms", "p90_ms"))

    def to_dict(self) -> dict[str, Any]:
        """Return everything except sessions and log lines, ready for JSON."""
        return {
            "title": self.entry.name,
            "window": _moments(self.window),
            "labels": list(self.labels),
            "taken_at": self.taken_at.isoformat(),
            "sentence": self.sentence(),
            "headlines": [headline.to_dict() for headline in self.headlines()],
            "figures": self.figures.row(),
            "failures": dict(self.figures.failures),
            "metadata": self.metadata,
            "latency": [{**bin.row(), "start": bin.start.isoformat(), "end": bin.end.isoformat()} for bin in self.bins],
            "logs_problem": self.logs_problem,
        }

    def __repr__(self) -> str:
        lines = [f"{self.entry.name} · {self.endpoints} · {self.window}", self.sentence()]
        lines += [
            f"{headline.title}: {headline.value}{f' ({headline.note})' if headline.note else ''}"
            for headline in self.headlines()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        bins = [
            (timestamp(bin.start), bin.n, bin.failed, bin.p50.text("ms"), bin.p90.text("ms"))
            for bin in self.bins[-BINS_SHOWN:]
        ]
        sessions = _cells(self.sessions.head(_LINES), ("session_id", "invocations", "failed", "last_done"))
        lines = _cells(self.logs.tail(_LINES), ("timestamp", "level", "message"))
        return overview_page(
            f"{self.entry.name} · {self.endpoints} · {self.window}",
            self.labels,
            self.sentence(),
            self.headlines(),
            Section((), list(self.metadata.items())),
            Section(("failure", "calls"), list(self.figures.failures.items())),
            Section(
                ("from", "n", "failed", "median", "p90"),
                bins,
                title="Latency over time",
                more=len(self.bins) - len(bins),
            ),
            Section(*sessions, title="Sessions", more=max(0, len(self.sessions) - _LINES)),
            Section(*lines, title="Recent log lines"),
            note=self.logs_problem,
        )


def _cells(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    table = frame[list(columns)] if len(frame) else frame
    return columns, [tuple(map(cell, row)) for row in table.itertuples(index=False, name=None)]


def _moments(window: Window) -> dict[str, str | None]:
    return {
        "since": window.since.isoformat() if window.since else None,
        "until": window.until.isoformat() if window.until else None,
        "text": str(window),
    }
