"""Sweeps: the same load test at several loads, one step after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from .arrivals import Arrivals, ClosedLoop, PoissonArrivals


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepStep:
    """One step of a sweep.

    Attributes:
        name: The step's name: letters, digits and hyphens, unique in the sweep.
        load: Calls in a second, or users.
        arrivals: When its calls start.
        seconds: How long calls arrive.
    """

    name: str
    load: float
    arrivals: Arrivals
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Steps at growing loads.

    Examples:
        >>> [step.load for step in Sweep.of_rates([1, 2, 4], seconds=10).steps]
        [1, 2, 4]

    Attributes:
        steps: The steps in the order in which they are made.
    """

    steps: tuple[SweepStep, ...]

    def __post_init__(self) -> None:
        if not self.steps or len({step.name for step in self.steps}) < len(self.steps):
            raise ValueError("a sweep has one step or more, each with a name of its own")

    @classmethod
    def of_rates(
        cls,
        rates_per_s: Sequence[float],
        *,
        seconds: float,
        arrivals: Callable[[float], Arrivals] | None = None,
    ) -> Self:
        """Return an open-loop sweep.

        Args:
            rates_per_s: Calls in a second, one rate a step.
            seconds: Length of a step.
            arrivals: Makes the arrival process of a rate; a Poisson process by default.
        """
        make = arrivals or _poisson
        return cls(
            steps=tuple(
                SweepStep(name=f"rate-{number:02d}", load=rate_per_s, arrivals=make(rate_per_s), seconds=seconds)
                for number, rate_per_s in enumerate(rates_per_s)
            )
        )

    @classmethod
    def of_users(cls, users: Sequence[int], *, calls_per_user: int, think_s: float = 0.0) -> Self:
        """Return a closed-loop sweep.

        Args:
            users: Numbers of users, one a step.
            calls_per_user: How many calls each user makes in a step.
            think_s: Time between an answer and the user's next call.
        """
        return cls(
            steps=tuple(
                SweepStep(
                    name=f"users-{number:02d}",
                    load=count,
                    arrivals=ClosedLoop(users=count, calls_per_user=calls_per_user, think_s=think_s),
                    seconds=math.inf,
                )
                for number, count in enumerate(users)
            )
        )


def _poisson(rate_per_s: float) -> Arrivals:
    return PoissonArrivals(rate_per_s=rate_per_s)


def spaced_loads(first: float, last: float, count: int) -> tuple[float, ...]:
    """Return loads at equal ratios, so that each step says as much as the next.

    Args:
        first: The first load, above 0.
        last: The last load.
        count: How many, 2 or more.
    """
    if first <= 0 or last <= 0 or count < 2:
        raise ValueError("loads are above 0, and there are 2 or more")
    return tuple(first * (last / first) ** (number / (count - 1)) for number in range(count))
