"""How far a run is: a bar where somebody watches a notebook, log lines everywhere else."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from loomlib import jobs
from loomlib.jobs import InPlace, is_watched_notebook
from loomlib.presentation.formats import number, seconds

_logger = logging.getLogger("loomlib.evals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run at one moment. `owed` counts cases × repeats; failures are of answering and of judging."""

    owed: int
    answered: int
    judged: int = 0
    reused: int = 0
    answer_failures: int = 0
    judge_failures: int = 0
    elapsed_s: float = 0.0
    stage: str = ""

    @property
    def share(self) -> float:
        """The part that is answered, 0…1."""
        return self.answered / max(1, self.owed)

    def __str__(self) -> str:
        """`evaluation · 120/200 answered, 40 from before · 118 judged · 2 not answered · 14 s`."""
        answered = f"{number(self.answered, 0)}/{number(self.owed, 0)} answered"
        parts = ["evaluation", f"{answered}, {number(self.reused, 0)} from before" if self.reused else answered]
        parts.append(f"{number(self.judged, 0)} judged")
        if self.answer_failures:
            parts.append(f"{number(self.answer_failures, 0)} not answered")
        if self.judge_failures:
            parts.append(f"{number(self.judge_failures, 0)} not judged")
        if self.stage:
            parts.append(self.stage)
        return " · ".join([*parts, seconds(self.elapsed_s)])


Progress: TypeAlias = "jobs.Progress[Snapshot]"
"""Receives snapshots of a run in the thread that waits for it."""


class LogLines:
    """Progress as one line every `interval_s` seconds at most, and one at the end of a run that took that long.

    Lines go to the logger `loomlib.evals`, or to `say` (a command line's own echo).
    """

    def __init__(self, say: Callable[[str], object] | None = None, *, interval_s: float = 2.0) -> None:
        self._say = say if say is not None else _logger.info
        self._interval_s = interval_s
        self._said_at = time.monotonic()

    def update(self, snapshot: Snapshot) -> None:
        now = time.monotonic()
        if now - self._said_at >= self._interval_s:
            self._said_at = now
            self._say(str(snapshot))

    def finish(self, snapshot: Snapshot) -> None:
        self._say(str(snapshot))


class Silent:
    """Progress that says nothing."""

    def update(self, snapshot: Snapshot) -> None:
        """Nothing."""

    def finish(self, snapshot: Snapshot) -> None:
        """Nothing."""


class NotebookBar:
    """The bar, changed in place (see `InPlace`)."""

    def __init__(self, title: str = "") -> None:
        self._title, self._place = title, InPlace()

    def update(self, snapshot: Snapshot) -> None:
        self._place.show(str(snapshot), bar_html(snapshot, self._title))

    def finish(self, snapshot: Snapshot) -> None:
        self.update(snapshot)


def choose_progress(title: str = "") -> Progress:
    """A bar where somebody watches a notebook, log lines everywhere else (scripts, cron, papermill, nbconvert)."""
    return NotebookBar(title) if is_watched_notebook() else LogLines()


def bar_html(snapshot: Snapshot, title: str = "") -> str:
    """The bar as HTML: as wide as the part that is answered, and the counts in words."""
    heading = f"<strong>{escape(title)}</strong> · " if title else ""
    return (
        '<div class="mathjax_ignore" role="status" style="font:13px var(--jp-ui-font-family,system-ui,sans-serif)">'
        '<div aria-hidden="true" style="height:6px;max-width:40rem;margin:2px 0 4px;'
        'background:var(--jp-layout-color2,rgba(128,128,128,.18))">'
        f'<span style="display:block;height:100%;width:{100 * snapshot.share:.1f}%;background:#3b6fb6"></span></div>'
        f"{heading}{escape(str(snapshot))}</div>"
    )
