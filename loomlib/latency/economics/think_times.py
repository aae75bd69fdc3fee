"""Think times: how long a person waits between an answer and the next call of a session."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTimes:
    """Think times of a session, in seconds: exponential with a mean, or observed ones.

    Exponential think times are those of calls that arrive as a Poisson process.

    Examples:
        >>> ThinkTimes.exponential(60).longer_than(900)
        >>> ThinkTimes.observed([4, 35, 80, 1200]).longer_than(900)
        0.25

    Attributes:
        mean_s: The mean.
        observed_s: The observed times, sorted; empty for exponential ones.
    """

    mean_s: float
    observed_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean_s) and self.mean_s > 0):
            raise ValueError("the mean think time must be finite and above 0 s")
        if any(not math.isfinite(value) or value < 0 for value in self.observed_s):
            raise ValueError("observed think times must be finite and at least 0 s")

    @classmethod
    def exponential(cls, mean_s: float) -> Self:
        """Return exponential think times.

        Args:
            mean_s: Their mean, in seconds.
        """
        return cls(mean_s=mean_s)

    @classmethod
    def observed(cls, seconds: Sequence[float]) -> Self:
        """Return think times with the distribution of a sample.

        Args:
            seconds: The observed times.
        """
        if not seconds:
            raise ValueError("an empty sample has no think times")
        return cls(mean_s=sum(seconds) / len(seconds), observed_s=tuple(sorted(seconds)))

    def longer_than(self, limit_s: float) -> float:
        """Return the share of think times above a limit: exp(−t / mean) for exponential ones.

        Args:
            limit_s: The limit, in seconds.
        """
        if self.observed_s:
            return sum(value > limit_s for value in self.observed_s) / len(self.observed_s)
        return math.exp(-max(0.0, limit_s) / self.mean_s)

    def mean_up_to(self, limit_s: float) -> float:
        """Return the mean of the think time or the limit, whichever is less, in seconds.

        For exponential ones it is mean·(1 − exp(−t / mean)).

        Args:
            limit_s: The limit, in seconds.
        """
        if self.observed_s:
            return sum(min(value, limit_s) for value in self.observed_s) / len(self.observed_s)
        return self.mean_s * -math.expm1(-max(0.0, limit_s) / self.mean_s)

    def draw(self, count: int, random: np.random.Generator) -> FloatArray:
        """Return random think times, in seconds.

        Args:
            count: Number of think times.
            random: The generator.
        """
        if self.observed_s:
            return random.choice(np.asarray(self.observed_s), size=count)
        return random.exponential(self.mean_s, size=count)

    def describe(self) -> str:
        """Return the distribution in words, without the mean."""
        return f"observed, n = {len(self.observed_s)}" if self.observed_s else "exponential"
