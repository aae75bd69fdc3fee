"""How far a run is, counted, and told to whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .progress import Snapshot


class Tally:
    """The counts of one run; every change is reported."""

    def __init__(self, owed: int, report: Callable[[Snapshot], None]) -> None:
        self._said, self._report, self._began = Snapshot(owed=owed, answered=0), report, time.monotonic()

    def note(
        self, *, answered: int = 0, judged: int = 0, reused: int = 0, answer_failures: int = 0, judge_failures: int = 0
    ) -> None:
        """So many more."""
        said = self._said
        self._said = replace(
            said,
            answered=said.answered + answered,
            judged=said.judged + judged,
            reused=said.reused + reused,
            answer_failures=said.answer_failures + answer_failures,
            judge_failures=said.judge_failures + judge_failures,
            elapsed_s=time.monotonic() - self._began,
        )
        self._report(self._said)

    def stage(self, stage: str) -> None:
        """What is being done beside asking, "" for nothing."""
        self._said = replace(self._said, stage=stage, elapsed_s=time.monotonic() - self._began)
        self._report(self._said)
