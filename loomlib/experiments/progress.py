"""Progress of a long operation: a bar in an interactive notebook, log lines everywhere else."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from loomlib.jobs import InPlace, Progress, is_interactive_notebook
from loomlib.presentation.formats import number, seconds
from loomlib.presentation.html import fragment

_ACCENT = "#3b6fb6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One segment of a progress bar: its `weight`, the `share` that is done (0 to 1), and its CSS colour."""

    weight: float
    share: float
    colour: str = _ACCENT


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressSnapshot(ABC):
    """The progress of a run at one time. Each kind of run adds its own counts.

    Attributes:
        elapsed_s: Seconds since the run began.
        stage: Activity of the run other than measuring; empty while it measures.
    """

    elapsed_s: float = 0.0
    stage: str = ""

    @property
    @abstractmethod
    def share(self) -> float:
        """Share of the run that is done, 0 to 1."""

    @abstractmethod
    def counts(self) -> Sequence[str]:
        """Return the kind of run and its counts as phrases."""

    def segments(self) -> Sequence[Segment]:
        """Return the segments of the bar."""
        return [Segment(weight=1, share=self.share)]

    def __str__(self) -> str:
        """Return the counts, the stage and the time in a line."""
        return " · ".join([*self.counts(), *filter(None, [self.stage]), seconds(self.elapsed_s)])


S = TypeVar("S", bound=ProgressSnapshot)


class ProgressCounter(Generic[S]):
    """Counts what a run has done and reports every change.

    Args:
        snapshot: The counts at the beginning.
        report: Receives the snapshots.
    """

    def __init__(self, snapshot: S, report: Callable[[S], object]) -> None:
        self._snapshot, self._report, self._began = snapshot, report, time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def add(self, **counts: int) -> None:
        """Add to the counts of these names."""
        self.set(**{name: getattr(self._snapshot, name) + count for name, count in counts.items()})

    def set(self, **values: Any) -> None:
        """Set fields of the snapshot."""
        self._snapshot = replace(self._snapshot, elapsed_s=self.elapsed_s, **values)
        self._report(self._snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySnapshot(ProgressSnapshot):
    """The progress of a study: `latency study · cold 10/10 · warm 10/10 · 0 failed · 14 s`.

    Attributes:
        title: The kind of study, such as "latency study".
        done: Units measured or failed, by condition.
        planned: Units in all, by condition.
        failed: Units that failed.
        colours: CSS colours of conditions.
    """

    title: str
    done: Mapping[str, int]
    planned: Mapping[str, int]
    failed: int = 0
    colours: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def share(self) -> float:
        """Share of the units that are measured or failed, 0 to 1."""
        return sum(self.done.values()) / max(1, sum(self.planned.values()))

    def segments(self) -> Sequence[Segment]:
        """Return one segment for each condition."""
        return [
            Segment(weight=count, share=self.done.get(name, 0) / count, colour=self.colours.get(name, _ACCENT))
            for name, count in self.planned.items()
            if count
        ]

    def counts(self) -> Sequence[str]:
        """Return the units measured of each condition, and those that failed."""
        counts = [
            f"{name} {number(self.done.get(name, 0), 0)}/{number(count, 0)}"
            for name, count in self.planned.items()
            if count
        ]
        return [self.title, *counts, f"{number(self.failed, 0)} failed"]


class LogLines:
    """Progress as log lines.

    Args:
        write: Called with each line; by default the lines are logged.
        interval_s: Least time between two lines, in seconds. The last line is always written.
        logger: Name of the logger.
    """

    def __init__(
        self,
        write: Callable[[str], object] | None = None,
        *,
        interval_s: float = 2.0,
        logger: str = "loomlib.experiments",
    ) -> None:
        self._write = write if write is not None else logging.getLogger(logger).info
        self._interval_s = interval_s
        self._written_at = float("-inf")

    def update(self, snapshot: object) -> None:
        """Log the snapshot, at most once every few seconds."""
        now = time.monotonic()
        if now - self._written_at >= self._interval_s:
            self._written_at = now
            self._write(str(snapshot))

    def finish(self, snapshot: object) -> None:
        """Log the last snapshot."""
        self._write(str(snapshot))


class Silent:
    """Progress that is discarded."""

    def update(self, snapshot: object) -> None:
        """Do nothing."""

    def finish(self, snapshot: object) -> None:
        """Do nothing."""


class NotebookBar:
    """Progress as a bar in a notebook's output, which stays there as static HTML.

    Args:
        title: Heading of the line, such as the agent's name.
    """

    def __init__(self, title: str = "") -> None:
        self._title, self._place = title, InPlace()

    def update(self, snapshot: ProgressSnapshot) -> None:
        """Replace the displayed snapshot."""
        self._place.show(str(snapshot), bar_html(snapshot, self._title))

    def finish(self, snapshot: ProgressSnapshot) -> None:
        """Show the last snapshot."""
        self.update(snapshot)


def choose_progress(title: str = "", *, logger: str = "loomlib.experiments") -> Progress[ProgressSnapshot]:
    """Return a bar in an interactive notebook, log lines everywhere else (scripts, cron, papermill, nbconvert).

    Args:
        title: Heading of the bar.
        logger: Name of the logger for log lines.
    """
    return NotebookBar(title) if is_interactive_notebook() else LogLines(logger=logger)


def bar_html(snapshot: ProgressSnapshot, title: str = "") -> str:
    """Return the bar as HTML, with the counts as text below it."""
    return fragment(
        "loomlib.experiments:progress.html.j2", segments=snapshot.segments(), text=str(snapshot), title=title
    )
