"""Wait for something that must happen. The limit ends a test that hangs; it measures nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 240.0
"""Far more than anything takes on a busy machine, and less than the time-out of a test."""


def wait_until(holds: Callable[[], T], what: object = "what was waited for", pause_s: float = 0.02) -> T:
    """Return the first true value of `holds`.

    Args:
        holds: Asked again and again.
        what: Named when it does not happen.
        pause_s: Between two questions.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE_S:g} s"
        time.sleep(pause_s)
    return found


async def eventually(holds: Callable[[], T], what: object = "what was waited for", pause_s: float = 0.02) -> T:
    """`wait_until` that leaves the event loop to others meanwhile."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE_S:g} s"
        await asyncio.sleep(pause_s)
    return found
