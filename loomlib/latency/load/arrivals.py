"""Arrival processes: when the calls of a load step are to start.

An open loop has a schedule: each call starts at its time, whatever happens to earlier calls, like those of independent
people. A
closed loop has users: each waits for an answer before the next call, so a slow service gets fewer requests, which hides
its waiting times (Schroeder, Wierman & Harchol-Balter, Open Versus Closed: A Cautionary Tale, NSDI 2006).

Every process is a value, and its starts depend on nothing but the value, the duration and the seed, so that an
interrupted step continues with the same schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStart:
    """When one call is to start.

    Attributes:
        at_s: Seconds from the start of the step; None when it starts after its user's previous call.
        user: The user of a closed loop; None in an open loop.
        think_s: Seconds between the end of the user's previous call and the start.
    """

    at_s: float | None
    user: int | None = None
    think_s: float = 0.0


class Arrivals(Protocol):
    """An arrival process: a value that gives the starts of a step's calls."""

    @property
    def is_open_loop(self) -> bool:
        """Whether calls start by a schedule and not after answers."""
        ...

    def starts(self, seconds: float, *, seed: int) -> tuple[CallStart, ...]:
        """Return the starts of the calls of a step, in the order of the calls.

        Args:
            seconds: How long calls arrive. A process with its own end ignores it.
            seed: Seed of the random process.
        """
        ...


class _OpenLoop:
    __slots__ = ()

    @property
    def is_open_loop(self) -> bool:
        """Whether calls start by a schedule and not after answers: True."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantArrivals(_OpenLoop):
    """Calls at equal intervals.

    Attributes:
        rate_per_s: Calls in a second.
    """

    rate_per_s: float

    def __post_init__(self) -> None:
        _check_rate(self.rate_per_s)

    def starts(self, seconds: float, *, seed: int = 0) -> tuple[CallStart, ...]:
        """Return the starts: 0, 1/rate, 2/rate, … below `seconds`.

        Args:
            seconds: How long calls arrive.
            seed: Without effect.
        """
        _check_seconds(seconds)
        # Rounding errors of a product that is a whole number must not add a call.
        count = math.ceil(round(seconds * self.rate_per_s, 9))
        return tuple(CallStart(at_s=number / self.rate_per_s) for number in range(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonArrivals(_OpenLoop):
    """Calls of many independent people: the times between calls are exponential.

    Attributes:
        rate_per_s: Mean number of calls in a second.
    """

    rate_per_s: float

    def __post_init__(self) -> None:
        _check_rate(self.rate_per_s)

    def starts(self, seconds: float, *, seed: int) -> tuple[CallStart, ...]:
        """Return the starts below `seconds`.

        Args:
            seconds: How long calls arrive.
            seed: Seed of the random times.
        """
        return _renewals(self.rate_per_s, 1.0, seconds, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstyArrivals(_OpenLoop):
    """Calls in bursts: the times between calls are gamma distributed, and vary more than those of a Poisson process.

    Attributes:
        rate_per_s: Mean number of calls in a second.
        variation: Standard deviation of the times between calls over their mean: 1 is a Poisson process, 3 has bursts.
            vLLM's `--burstiness` is 1 / variation².
    """

    rate_per_s: float
    variation: float = 3.0

    def __post_init__(self) -> None:
        _check_rate(self.rate_per_s)
        if not (math.isfinite(self.variation) and self.variation > 0):
            raise ValueError("variation must be finite and above 0")

    def starts(self, seconds: float, *, seed: int) -> tuple[CallStart, ...]:
        """Return the starts below `seconds`.

        Args:
            seconds: How long calls arrive.
            seed: Seed of the random times.
        """
        return _renewals(self.rate_per_s, self.variation, seconds, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedArrivals(_OpenLoop):
    """Calls at given times, such as those of a log; all zeros are a burst of calls at once.

    Attributes:
        times_s: The times in seconds from the start of the step, in any order.
    """

    times_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if any(not math.isfinite(at_s) or at_s < 0 for at_s in self.times_s):
            raise ValueError("times_s must be finite and 0 or more")

    def starts(self, seconds: float = math.inf, *, seed: int = 0) -> tuple[CallStart, ...]:
        """Return the recorded starts below `seconds`, in order.

        Args:
            seconds: Where the recording is cut.
            seed: Without effect.
        """
        return tuple(CallStart(at_s=at_s) for at_s in sorted(self.times_s) if at_s < seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class RampArrivals(_OpenLoop):
    """Calls at a rate that changes linearly from the start of the step to its end.

    Attributes:
        from_per_s: Calls in a second at the start.
        to_per_s: Calls in a second at the end.
        is_random: Whether calls arrive as a Poisson process of that rate; otherwise at the times that follow from the
            rate.
    """

    from_per_s: float
    to_per_s: float
    is_random: bool = True

    def __post_init__(self) -> None:
        for rate_per_s in (self.from_per_s, self.to_per_s):
            if not (math.isfinite(rate_per_s) and rate_per_s >= 0):
                raise ValueError("the rates of a ramp must be finite and 0 or more")
        if self.from_per_s == self.to_per_s == 0:
            raise ValueError("a ramp needs a rate above 0")

    def starts(self, seconds: float, *, seed: int) -> tuple[CallStart, ...]:
        """Return the starts below `seconds`.

        The expected number of calls up to t is a·t + (b − a)·t²/2s; a Poisson process of a changing rate is one of rate
        1 on that scale (Çinlar, Introduction to Stochastic Processes, 1975, §4.7).

        Args:
            seconds: Length of the ramp.
            seed: Seed of the random times.
        """
        _check_seconds(seconds)
        if not seconds:
            return ()
        expected = (self.from_per_s + self.to_per_s) / 2 * seconds
        if self.is_random:
            counts = np.fromiter((start.at_s for start in _renewals(1.0, 1.0, expected, seed)), np.float64)
        else:
            counts = np.arange(math.ceil(round(expected, 9)), dtype=np.float64)
        start, growth = self.from_per_s, (self.to_per_s - self.from_per_s) / seconds
        root = np.sqrt(np.maximum(start * start + 2 * growth * counts, 0.0))
        # 2·count / (start + root) is the smaller root of the quadratic without cancellation, and right for growth = 0.
        times = np.divide(2 * counts, start + root, out=np.zeros_like(counts), where=start + root > 0)
        return _open(times)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """Users who wait for each answer, think, and call again. Its latencies hide the waiting that an open loop shows.

    Attributes:
        users: Number of users: the concurrency.
        calls_per_user: Number of calls of each user.
        think_s: Mean time between an answer and the user's next call.
        is_think_random: Whether think times are exponential with that mean; else all are equal.
        stagger_s: The time over which the users begin, one after another; 0 for all at once.
    """

    users: int
    calls_per_user: int
    think_s: float = 0.0
    is_think_random: bool = False
    stagger_s: float = 0.0

    def __post_init__(self) -> None:
        if self.users < 1 or self.calls_per_user < 1:
            raise ValueError("users and calls_per_user must be 1 or more")
        for value in (self.think_s, self.stagger_s):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError("think_s and stagger_s must be finite and 0 or more")

    @property
    def is_open_loop(self) -> bool:
        """Whether calls start by a schedule and not after answers: False."""
        return False

    def starts(self, seconds: float = math.inf, *, seed: int = 0) -> tuple[CallStart, ...]:
        """Return the starts, round by round: the first calls of all users, then the second ones, and so on.

        Args:
            seconds: Without effect: a closed loop ends with its calls, or when the engine is stopped.
            seed: Seed of random think times.
        """
        random = np.random.Generator(np.random.PCG64(seed))
        call_starts = [
            CallStart(at_s=user * self.stagger_s / self.users if self.stagger_s else 0.0, user=user)
            for user in range(self.users)
        ]
        for _ in range(1, self.calls_per_user):
            for user in range(self.users):
                think_s = float(random.exponential(self.think_s)) if self.is_think_random else self.think_s
                call_starts.append(CallStart(at_s=None, user=user, think_s=think_s))
        return tuple(call_starts)


def _renewals(rate_per_s: float, variation: float, seconds: float, seed: int) -> tuple[CallStart, ...]:
    """Return the starts of a process whose times between calls are gamma distributed."""
    _check_seconds(seconds)
    random = np.random.Generator(np.random.PCG64(seed))
    shape = 1 / variation**2
    times, last_s = list[FloatArray](), 0.0
    while last_s < seconds:
        count = math.ceil((seconds - last_s) * rate_per_s * 1.1) + 16
        times.append(last_s + np.cumsum(random.gamma(shape, 1 / (rate_per_s * shape), count)))
        last_s = float(times[-1][-1])
    every: FloatArray = np.concatenate(times) if times else np.zeros(0)
    return _open(every[every < seconds])


def _open(times_s: NDArray[np.floating[Any]]) -> tuple[CallStart, ...]:
    return tuple(CallStart(at_s=at_s) for at_s in times_s.tolist())


def _check_rate(rate_per_s: float) -> None:
    if not (math.isfinite(rate_per_s) and rate_per_s > 0):
        raise ValueError("rate_per_s must be finite and above 0")


def _check_seconds(seconds: float) -> None:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError("an open loop needs a finite duration of 0 s or more")
