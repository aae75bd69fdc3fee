"""The clock for the expiry of stored data: data is deleted by age only while the machine's time can be trusted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from ..wall_clock import WallClock, steady_s, unix_s

STABLE_S: Final = 3_600.0
"""Seconds that must pass after a change of the machine's clock before anything is deleted by age."""

_log = logging.getLogger(__name__)


class ExpiryClock:
    """The Unix time, or 0 while that may be wrong, so that nothing is old enough to be deleted.

    Nobody can know whether the time is right, but a wrong setting is usually corrected soon. So deletion by age begins
    an hour after the process started, and pauses for an hour after each change of the clock.

    Args:
        data: The kind of data that expires, such as "memory event", for the service's log.
        unix_s: The machine's time in Unix seconds.
        steady_s: Seconds of a monotonic clock.
        stable_s: Seconds since the last change of the clock before data may be deleted.
    """

    def __init__(
        self,
        data: str,
        unix_s: Callable[[], float] = unix_s,
        steady_s: Callable[[], float] = steady_s,
        *,
        stable_s: float = STABLE_S,
    ) -> None:
        self._data, self._unix_s, self._steady_s, self._stable_s = data, unix_s, steady_s, stable_s
        self._clock = WallClock(unix_s, steady_s)
        self._since_s = steady_s()

    def __call__(self) -> float:
        """Return the Unix time in seconds; 0 while the machine's time may be wrong."""
        if set_by_s := self._clock.observe():
            self._since_s = self._steady_s()
            _log.warning(
                "The machine's time was set by %+.0f s: no %s is deleted by age until it has not been set for %.0f s",
                *(set_by_s, self._data, self._stable_s),
            )
        return self._unix_s() if self._steady_s() - self._since_s >= self._stable_s else 0.0
