"""The nights of one figure as a small drawing in static HTML, and the levels between its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from loomlib.presentation.formats import day, figure
from loomlib.presentation.html import fragment
from loomlib.presentation.theme import GRID, INK, inert_text

from ..theme import SCENARIO_STYLES, ScenarioStyle
from .change import REGRESSION
from .metrics import WatchedFigure
from .result import FigureHistory, WatchResult

if TYPE_CHECKING:
    from markupsafe import Markup

BAD_COLOUR = "#D55E00"
_EVALUATION_STYLE = ScenarioStyle(colour="#CC79A7", symbol="circle", mark="●")


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The level of a figure between two changes.

    Attributes:
        state: The state of the change with which it began; "first" for none.
        value: Median of its nights, in the figure's unit.
        begin: Time of its first night.
        end: Time of its last night.
    """

    state: str
    value: float
    begin: datetime
    end: datetime

    @property
    def is_regression(self) -> bool:
        """Whether it began with a regression."""
        return self.state == REGRESSION


def levels(history: FigureHistory, result: WatchResult) -> list[Level]:
    """Return the levels of a figure, oldest first.

    Args:
        history: The figure.
        result: The watch, with its changes.
    """
    if not history.at:
        return []
    changes = sorted(
        (
            (change.since, change.state)
            for change in (*result.changes, *result.earlier)
            if change.figure == history.figure
        ),
        key=lambda change: change[0],
    )
    begins = [(history.at[0], "first"), *changes]
    places = [*(history.at.index(begin) for begin, _ in begins), len(history.at)]
    return [
        Level(state=state, value=median(history.values[a:b]), begin=history.at[a], end=history.at[b - 1])
        for (a, b), (_, state) in zip(pairwise(places), begins, strict=True)
    ]


def nights_drawing(history: FigureHistory, result: WatchResult) -> Markup:
    """Return the drawing of a figure with one night at least; its tooltips show day, value and version.

    Args:
        history: The figure.
        result: The watch, with its changes.
    """
    kind, top = history.figure.kind, max(history.values) if max(history.values) > 0 else 1.0
    return fragment(
        "loomlib.latency.watch:nights.html.j2",
        title=f"{history.figure.title}, one value a night",
        dots=[
            (_place(at, history.at), value / top, f"{day(at)}: {figure(value, kind)}{_version(version)}")
            for at, value, version in zip(history.at, history.values, history.versions, strict=True)
        ],
        levels=[
            (
                _place(level.begin, history.at), _place(level.end, history.at), level.value / top, level.is_regression,
                f"median {figure(level.value, kind)}",
            )
            for level in levels(history, result)
        ],
        highest=figure(top, kind),
        first=day(history.at[0]),
        last=day(history.at[-1]),
        colour=style_of(history.figure).colour,
        versions=[(_place(at, history.at), text) for at, text in version_marks(history)],
        bad=BAD_COLOUR,
        ink=INK,
        grid=GRID,
    )  # fmt: skip


def version_marks(history: FigureHistory) -> list[tuple[datetime, str]]:
    """Return when a new version was first measured and its name; nights of unknown version do not count as a change.

    Args:
        history: The figure.
    """
    marks: list[tuple[datetime, str]] = []
    known_versions = [(at, version) for at, version in zip(history.at, history.versions, strict=True) if version]
    for (_, before), (at, after) in pairwise(known_versions):
        if before != after:
            marks.append((at, f"version {inert_text(after)}"))
    return marks


def style_of(figure: WatchedFigure) -> ScenarioStyle:
    """Return the colour and symbol of a figure: its scenario's, or that of evaluations.

    Args:
        figure: The figure.
    """
    return next((style for name, style in SCENARIO_STYLES.items() if name == figure.subject), _EVALUATION_STYLE)


def _place(at: datetime, times: Sequence[datetime]) -> float:
    span = (times[-1] - times[0]).total_seconds()
    return (at - times[0]).total_seconds() / span if span else 0.5


def _version(version: str) -> str:
    return f", version {version}" if version else ""
