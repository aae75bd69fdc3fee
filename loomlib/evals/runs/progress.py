"""Progress of an evaluation run: its counts at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from loomlib import jobs
from loomlib.deprecation import warn_renamed
from loomlib.experiments import ProgressSnapshot
from loomlib.presentation.formats import number


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot(ProgressSnapshot):
    """The progress of a run: `evaluation · 120/200 answered, 40 reused · 118 scored · 2 failed to run · 14 s`.

    Attributes:
        total: All answers of the run: cases times repeats.
        answered: Answers received, failed ones included.
        judged: Answers scored by all their evaluators.
        reused: Answers taken from earlier runs.
        answer_failures: Cases that failed to run.
        judge_failures: Scores that evaluators failed to return.
    """

    total: int
    answered: int = 0
    judged: int = 0
    reused: int = 0
    answer_failures: int = 0
    judge_failures: int = 0

    @property
    def owed(self) -> int:
        """`total`, by its former name."""
        warn_renamed("RunSnapshot.owed", "RunSnapshot.total")
        return self.total

    @property
    def share(self) -> float:
        """Share of the answers that were received, 0 to 1."""
        return self.answered / max(1, self.total)

    def counts(self) -> Sequence[str]:
        """Return the answers and scores, and the failures where there are any."""
        answered_text = f"{number(self.answered, 0)}/{number(self.total, 0)} answered"
        parts = ["evaluation", f"{answered_text}, {number(self.reused, 0)} reused" if self.reused else answered_text]
        parts.append(f"{number(self.judged, 0)} scored")
        if self.answer_failures:
            parts.append(f"{number(self.answer_failures, 0)} failed to run")
        if self.judge_failures:
            parts.append(f"{number(self.judge_failures, 0)} failed to score")
        return parts


Progress: TypeAlias = "jobs.Progress[RunSnapshot]"
"""Receives snapshots of a run in the thread that waits for it."""
