"""A rule that ends a study early: when the interval of a figure is narrow enough, by a confidence sequence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..presentation.formats import percent
from .estimates import Estimate
from .percentiles import needed_for
from .sequential import sequence_percentile, sequence_share

_TEXT = re.compile(r"(?:p(?P<p>\d{1,2}(?:\.\d+)?)|failures)\s+within\s+(?P<within>\d+(?:\.\d+)?)\s*%", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """Stop when both ends of a figure's interval are within a margin of its value.

    Attributes:
        p: The percentile of the answered calls as a share; None for the share of failed calls.
        within: The margin: relative to the percentile's value, or an absolute difference of the share of failed calls
            (0.02 is 2 points).
    """

    p: float | None
    within: float

    def __post_init__(self) -> None:
        if self.p is not None and not 0 < self.p < 1:
            raise ValueError(f"a percentile must be between 0 and 1, not {self.p}")
        if not 0 < self.within < 1:
            raise ValueError(f"a margin must be between 0 and 100 %, not {percent(self.within)}")

    @classmethod
    def parse(cls, text: str) -> StoppingRule:
        """Return the rule that a text states: "p90 within 10 %", or "failures within 2 %"."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f'a rule must read "p90 within 10 %" or "failures within 2 %", not {text!r}')
        p = match["p"]
        return cls(p=None if p is None else float(p) / 100, within=float(match["within"]) / 100)

    def estimate(self, durations_ms: Sequence[float], failed: int, *, planned: int) -> Estimate:
        """Return the figure with its interval, which is valid at every look.

        Args:
            durations_ms: Durations of the answered calls so far, in milliseconds.
            failed: Failed calls so far.
            planned: Maximum number of calls of the study; the percentile's interval is narrowest near half of it.
        """
        if self.p is None:
            return sequence_share(failed, failed + len(durations_ms))
        return sequence_percentile(durations_ms, self.p, tuned_for=tuned_for(planned))

    def is_met(self, estimate: Estimate) -> bool:
        """Return whether the interval of an estimate is narrow enough; an interval that is open above never is."""
        value, low, high = estimate.value, estimate.low, estimate.high
        if value is None or low is None or high is None or estimate.open_above:
            return False
        margin = self.within if self.p is None else self.within * value
        return max(high - value, value - low) <= margin

    def is_look(self, measured: int) -> bool:
        """Return whether to look after this many calls: first at the minimum, then every 5 %, at least 10 apart.

        The looks depend on the count alone, so a study that was killed and resumed stops at the same call. A confidence
        sequence would allow a look after every call; a look reads the whole study.
        """
        look = needed_for(self.p) if self.p is not None else 10
        while look < measured:
            look = max(look + 10, math.ceil(look * 1.05))
        return look == measured


def tuned_for(planned: int) -> int:
    """Return the size near which intervals of a study of at most `planned` calls are narrowest: half of them."""
    return max(1, planned // 2)
