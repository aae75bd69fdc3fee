"""Detect changes of the machine's time by a clock that cannot be set, and compute ages in spite of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SET_BY_S: Final = 60.0
"""The system clock counts as set when it differs by more than this; time servers make smaller corrections."""


def unix_s() -> float:
    """Return the machine's time in Unix seconds."""
    return time.time()


def steady_s() -> float:
    """Return the seconds since the machine started, on Linux with those in which it was suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def unix_lead_ns(counter_ns: Callable[[], int]) -> int:
    """Return by how many nanoseconds Unix time is ahead of a counter.

    A busy machine can pause the thread between the two readings, which makes the difference smaller; so it is the
    largest of several.

    Args:
        counter_ns: The counter, such as `time.monotonic_ns`.
    """
    return max(time.time_ns() - counter_ns() for _ in range(5))


class WallClock:
    """Notices when the machine's time is set forwards or backwards by more than a minute.

    Args:
        unix_s: The machine's time in Unix seconds.
        steady_s: The seconds of a clock that cannot be set.
    """

    def __init__(self, unix_s: Callable[[], float] = unix_s, steady_s: Callable[[], float] = steady_s) -> None:
        self._unix_s, self._steady_s = unix_s, steady_s
        self._offsets_s = [unix_s() - steady_s()]

    def observe(self) -> float:
        """Return by how many seconds the time was set since the last call; 0 if it was not."""
        offset_s = self._unix_s() - self._steady_s()
        set_by_s = offset_s - self._offsets_s[-1]
        if abs(set_by_s) > SET_BY_S:
            self._offsets_s.append(offset_s)
            return set_by_s
        self._offsets_s[-1] = offset_s  # small corrections do not add up
        return 0.0

    @property
    def was_set(self) -> bool:
        """Whether the time was set since this clock was created."""
        self.observe()
        return len(self._offsets_s) > 1

    def age_s(self, moment_s: float) -> float:
        """Return how many seconds ago a moment was, even if the time was set since then.

        Args:
            moment_s: The moment in Unix seconds, as the machine's time was then.

        Returns:
            The shortest time that is possible with the settings that this clock has seen; negative in the future.
        """
        self.observe()
        ages_s = [self._steady_s() + offset_s - moment_s for offset_s in self._offsets_s]
        return min((age_s for age_s in ages_s if age_s >= 0), default=max(ages_s))


OF_THIS_PROCESS: Final = WallClock()
"""The clock of this process, which has seen how the time was set since Loom was imported."""
