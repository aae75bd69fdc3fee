"""Wait for something that must happen. The limit ends a test that hangs; it measures nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_LONGEST_PAUSE_S = 0.1

PATIENCE_S = 240.0
"""Far more than anything takes on a busy machine, and less than the time-out of a test."""


def wait_until(holds: Callable[[], T], what: object = "what was waited for", pause_s: float = 0.02) -> T:
    """Return the first true value of `holds`.

    Args:
        holds: Asked again and again.
        what: Named when it does not happen.
        pause_s: Between the first questions. A question of a service takes processor time from what is waited for, so
            the pauses grow to a fifth of the time that has passed, and no longer than 0.1 s.
    """
    start = time.monotonic()
    while not (value := holds()):
        time.sleep(_pause(time.monotonic() - start, what, pause_s))
    return value


async def eventually(holds: Callable[[], T], what: object = "what was waited for", pause_s: float = 0.02) -> T:
    """`wait_until` that leaves the event loop to others meanwhile."""
    start = time.monotonic()
    while not (value := holds()):
        await asyncio.sleep(_pause(time.monotonic() - start, what, pause_s))
    return value


def _pause(passed_s: float, event: object, pause_s: float) -> float:
    assert passed_s < PATIENCE_S, f"{event} did not happen within {PATIENCE_S:g} s"
    return max(pause_s, min(passed_s / 5, _LONGEST_PAUSE_S))
