"""Work that goes on beside the asking; what it raises is raised by whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class SlowTasks:
    """Tasks that run side by side. None of their errors is lost."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Begin it; raises what an earlier one raised."""
        if self._error is not None:
            work.close()
            raise self._error
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._ended)

    async def wait(self) -> None:
        """Until all have ended; raises what one of them raised."""
        while self._running and self._error is None:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_EXCEPTION)
        if self._error is not None:
            raise self._error

    async def cancel(self) -> None:
        """End those that still run."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and self._error is None:
            self._error = task.exception()
