"""The watched figures of a scenario: percentiles of durations and first bytes, and the share of failed calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loomlib.presentation.formats import NumberKind, number
from loomlib.statistics.percentiles import needed_for, percentile

from ..measurements import Measurement
from ..scenarios import Scenario

FAILURES: Final = "failures"
_PERCENTILES: Final = {"p50": ("duration", 0.5), "p90": ("duration", 0.9),
                       "ttft_p50": ("first byte", 0.5), "ttft_p90": ("first byte", 0.9)}  # fmt: skip

WATCH_METRICS: Final = (*_PERCENTILES, FAILURES)
"""Names of the figures: percentiles of whole answers, of first bytes, and the share of failed calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFigure:
    """A figure of one scenario, computed anew for each night.

    Attributes:
        scenario: The scenario of its calls.
        metric: One of `WATCH_METRICS`.
    """

    scenario: Scenario
    metric: str

    def __post_init__(self) -> None:
        if self.metric not in WATCH_METRICS:
            raise ValueError(f"a watched figure is {', '.join(WATCH_METRICS)}, not {self.metric!r}")

    @property
    def kind(self) -> NumberKind:
        """What it measures: milliseconds, or a share."""
        return "share" if self.is_share else "ms"

    @property
    def is_share(self) -> bool:
        """Whether it is a share, which changes by points; durations change by ratios."""
        return self.metric == FAILURES

    @property
    def title(self) -> str:
        """Its name in a sentence, such as `p90 of warm calls`."""
        if self.is_share:
            return f"share of failed {self.scenario} calls"
        what, p = _PERCENTILES[self.metric]
        return f"p{number(100 * p, 0)} {'of' if what == 'duration' else 'to the first byte of'} {self.scenario} calls"

    def value(self, calls: Sequence[Measurement]) -> float | None:
        """Return the figure of a night's calls, in milliseconds or as a share; None for too few calls."""
        if self.is_share:
            ended = [call for call in calls if call.is_done or call.is_failed]
            return sum(call.is_failed for call in ended) / len(ended) if ended else None
        what, p = _PERCENTILES[self.metric]
        done = [call for call in calls if call.is_done]
        times = [call.duration_ms if what == "duration" else call.ttft_ms for call in done]
        known = [time for time in times if time is not None and time > 0]
        return percentile(known, p) if len(known) >= needed_for(p) else None

    def level(self, value: float) -> float:
        """Return a night's value on the scale on which changes add up: durations as logarithms."""
        return value if self.is_share else math.log(value)
