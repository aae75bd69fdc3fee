"""How far a study is, and saying so in log lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loomlib.presentation.formats import number, seconds

from .scenarios import Scenario

_logger = logging.getLogger("loomlib.latency")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A study at one moment: calls made and owed by scenario, failures, seconds since it started."""

    done: Mapping[Scenario, int]
    owed: Mapping[Scenario, int]
    failed: int = 0
    elapsed_s: float = 0.0
    stage: str = "measuring"

    @property
    def share(self) -> float:
        """The part of the calls that is made, 0…1."""
        return sum(self.done.values()) / max(1, sum(self.owed.values()))

    def __str__(self) -> str:
        """`latency study · cold 10/10 · warm 10/10 · sticky 10/10 · 0 failed · 14 s`."""
        counts = [
            f"{scenario} {number(self.done.get(scenario, 0), 0)}/{number(owed, 0)}"
            for scenario, owed in self.owed.items()
            if owed
        ]
        stage = [] if self.stage in ("measuring", "done") else [self.stage]
        return " · ".join(
            ["latency study", *counts, f"{number(self.failed, 0)} failed", *stage, seconds(self.elapsed_s)]
        )


class LogLines:
    """Progress as one line every `interval_s` seconds at most, and one at the end.

    Lines go to the logger `loomlib.latency`, or to `say` (a command line's own echo).
    """

    def __init__(self, say: Callable[[str], object] | None = None, *, interval_s: float = 2.0) -> None:
        self._say = say if say is not None else _logger.info
        self._interval_s = interval_s
        self._said_at: float | None = None

    def update(self, snapshot: Snapshot) -> None:
        now = time.monotonic()
        if self._said_at is None or now - self._said_at >= self._interval_s:
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
