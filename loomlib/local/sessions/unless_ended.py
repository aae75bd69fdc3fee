"""Waits for a part of a session's start, and cancels it when the session is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def unless_ended(work: Coroutine[Any, Any, _T], ended: asyncio.Event, *, grace_s: float = 0.0) -> _T:
    """Return the result of a coroutine, which is cancelled if the session ends first.

    Args:
        work: The coroutine.
        ended: Set once the session is ending.
        grace_s: Seconds that the coroutine still has after that.

    Raises:
        InterruptedError: It was cancelled.
    """
    loop = asyncio.get_running_loop()
    working, ending = loop.create_task(work), loop.create_task(ended.wait())
    try:
        await asyncio.wait([working, ending], return_when=asyncio.FIRST_COMPLETED)
        if not working.done() and grace_s:
            await asyncio.wait([working], timeout=grace_s)
        if not working.done():
            raise InterruptedError("the session was stopped while it started")
        return working.result()
    finally:
        ending.cancel()
        working.cancel()
        await asyncio.wait([working])
