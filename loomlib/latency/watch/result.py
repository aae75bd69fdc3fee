"""The result of a watch: which figures of an agent changed, when, by how much, and with which other changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call

from .change import IMPROVEMENT, REGRESSION, Change
from .limits import WatchLimits
from .metrics import WatchedFigure

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureHistory:
    """One figure over the nights.

    Attributes:
        figure: The figure.
        at: Times of the nights.
        values: Its value of each night, in its unit.
        versions: The agent's version of each night; empty where it was not recorded.
        present: Median of the nights since its last change; None without a night.
        present_nights: Number of these nights.
        spread: Standard deviation from night to night between changes, as a share of the level (for shares and scores:
            in their own unit); None with fewer than three nights.
        left_out: The parts of the history that are not compared, in sentences.
    """

    figure: WatchedFigure
    at: tuple[datetime, ...] = field(repr=False)
    values: tuple[float, ...] = field(repr=False)
    versions: tuple[str, ...] = field(repr=False)
    present: float | None
    present_nights: int
    spread: float | None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """Changes in the stored latency studies and evaluations of an agent.

    Examples:
        >>> agent.releases.watch(days=60).regressions

    Attributes:
        agent_name: The agent.
        agent_arn: Its ARN.
        qualifier: The endpoint.
        since: Where the history begins.
        days: Number of days up to now: changes found in them count, and older ones are part of the present level.
        limits: The allowed worsening.
        histories: The watched figures.
        changes: The changes of the last `days` days, newest first.
        earlier: Older changes.
        fewest_nights: Smallest number of nights under the same conditions in which a change can be found.
        notes: What was left out, in sentences.
        labels: Provenance labels of the newest night.
    """

    agent_name: str
    agent_arn: str
    qualifier: str
    since: datetime
    days: int
    limits: WatchLimits
    histories: tuple[FigureHistory, ...]
    changes: tuple[Change, ...]
    earlier: tuple[Change, ...]
    fewest_nights: int
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for which a gate fails: worse by more than the limit with the whole interval, and still worse."""
        return tuple(change for change in self.changes if change.state == REGRESSION)

    @property
    def improvements(self) -> tuple[Change, ...]:
        """The changes to faster or cheaper calls, fewer failures, or better scores."""
        return tuple(change for change in self.changes if change.state == IMPROVEMENT)

    @property
    def nights(self) -> int:
        """The largest number of nights of a figure."""
        return max((len(history.values) for history in self.histories), default=0)

    @property
    def is_enough(self) -> bool:
        """Whether any figure has enough nights for a change to be found."""
        return self.nights >= self.fewest_nights

    @property
    def exit_code(self) -> int:
        """2 with a regression, else 1 with too few nights to find one, else 0."""
        return 2 if self.regressions else 0 if self.is_enough else 1

    def title(self) -> str:
        """Return the agent, its endpoint and its provenance labels."""
        return " · ".join([self.agent_name, self.qualifier, *self.labels])

    def sentences(self) -> list[str]:
        """Return the conclusions in a few sentences, a regression first."""
        return call("WatchResult.sentences", self)

    def table(self) -> pd.DataFrame:
        """Return one row for each watched figure: its nights, its level, its last change."""
        from loomlib.presentation.text_frame import TextFrame

        head, rows = self.text_table()
        return TextFrame([list(row) for row in rows], columns=list(head)).set_index(head[0])

    def text_table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Return the table's head and rows as text."""
        return call("WatchResult.table", self)

    def figure(self, subject: str | None = None, metric: str | None = None) -> go.Figure:
        """Return a chart of one figure over the nights, with its levels, changes and versions.

        Args:
            subject: The scenario, evaluator or eval set; by default that of the newest regression, or change.
            metric: The figure, such as "p90"; by default likewise.
        """
        return call("WatchResult.figure", self, subject, metric)

    def summary(self) -> dict[str, Any]:
        """Return the result as JSON-ready values."""
        return {
            "exit_code": self.exit_code,
            "agent": self.agent_name,
            "agent_arn": self.agent_arn,
            "endpoint": self.qualifier,
            "since": self.since.isoformat(),
            "days": self.days,
            **asdict(self.limits),
            "nights": self.nights,
            "fewest_nights": self.fewest_nights,
            "sentences": self.sentences(),
            "changes": [change.summary() for change in self.changes],
            "earlier": [change.summary() for change in self.earlier],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return call("WatchResult.html", self)
