"""Progress of a run: its counts at one moment, as one line of text and as a bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from loomlib import jobs
from loomlib.experiments import Segment
from loomlib.presentation.formats import number, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """A run at one moment.

    Attributes:
        owed: All answers of the run: cases times repeats.
        answered: Answers received, failed ones included.
        judged: Answers scored by all their evaluators.
        reused: Answers taken from earlier runs.
        answer_failures: Cases that failed to run.
        judge_failures: Scores that evaluators failed to give.
        elapsed_s: Seconds since the run began.
        stage: What the run does beside asking; empty otherwise.
    """

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
        """Share of the answers that were received, 0 to 1."""
        return self.answered / max(1, self.owed)

    def segments(self) -> list[Segment]:
        """Return the progress bar."""
        return [Segment(weight=1, share=self.share)]

    def __str__(self) -> str:
        """Return `evaluation · 120/200 answered, 40 reused · 118 scored · 2 failed to run · 14 s`."""
        answered = f"{number(self.answered, 0)}/{number(self.owed, 0)} answered"
        parts = ["evaluation", f"{answered}, {number(self.reused, 0)} reused" if self.reused else answered]
        parts.append(f"{number(self.judged, 0)} scored")
        if self.answer_failures:
            parts.append(f"{number(self.answer_failures, 0)} failed to run")
        if self.judge_failures:
            parts.append(f"{number(self.judge_failures, 0)} failed to score")
        if self.stage:
            parts.append(self.stage)
        return " · ".join([*parts, seconds(self.elapsed_s)])


Progress: TypeAlias = "jobs.Progress[RunSnapshot]"
"""Receives snapshots of a run in the thread that waits for it."""


class RunCounter:
    """Counts what a run has done and reports every change."""

    def __init__(self, owed: int, report: Callable[[RunSnapshot], None]) -> None:
        self._snapshot, self._report, self._began = RunSnapshot(owed=owed, answered=0), report, time.monotonic()

    def add(
        self, *, answered: int = 0, judged: int = 0, reused: int = 0, answer_failures: int = 0, judge_failures: int = 0
    ) -> None:
        """Add to the counts and report the new ones.

        Args:
            answered: Answers that were obtained.
            judged: Scores that were made.
            reused: Stored answers that were reused.
            answer_failures: Cases without an answer.
            judge_failures: Scores that could not be made.
        """
        snapshot = self._snapshot
        self._snapshot = replace(
            snapshot,
            answered=snapshot.answered + answered,
            judged=snapshot.judged + judged,
            reused=snapshot.reused + reused,
            answer_failures=snapshot.answer_failures + answer_failures,
            judge_failures=snapshot.judge_failures + judge_failures,
            elapsed_s=time.monotonic() - self._began,
        )
        self._report(self._snapshot)

    def stage(self, stage: str) -> None:
        """Report the current step other than asking, "" for none."""
        self._snapshot = replace(self._snapshot, stage=stage, elapsed_s=time.monotonic() - self._began)
        self._report(self._snapshot)
