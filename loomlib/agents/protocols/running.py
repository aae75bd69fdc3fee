"""Work on the engine's loop, waited for in plain code: callbacks run in the waiting thread, Ctrl-C cancels."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from loomlib.aws.engine import Engine

T = TypeVar("T")

RunInCaller = Callable[[Callable[[], None]], None]


class Running(Generic[T]):
    """Work in progress. The work itself turns a cancellation into its result, so `result` returns after `cancel` too.

    Args:
        engine: The engine.
        make: Returns the coroutine to run. Its argument is a function that runs a callback in the thread that waits in
            `result`.
    """

    def __init__(self, engine: Engine, make: Callable[[RunInCaller], Coroutine[Any, Any, T]]) -> None:
        self._engine = engine
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._task: asyncio.Task[T] | None = None
        self._cancelled = False
        self._future: Future[T] = engine.submit(self._run(make))
        self._future.add_done_callback(lambda _done: self._inbox.put(None))

    async def _run(self, make: Callable[[RunInCaller], Coroutine[Any, Any, T]]) -> T:
        task = asyncio.ensure_future(make(self._inbox.put))
        await asyncio.sleep(0)  # the work begins before it can be cancelled, so that it can store its outcome
        self._task = task
        if self._cancelled:
            task.cancel()
        return await task

    @property
    def is_done(self) -> bool:
        """Whether the work has ended."""
        return self._future.done()

    def cancel(self) -> None:
        """Cancel from any thread; later calls do nothing."""
        self._engine.call_soon(self._cancel)

    def _cancel(self) -> None:
        if not self._cancelled and self._task is not None and not self._task.done():
            self._task.cancel()
        self._cancelled = True

    def result(self) -> T:
        """Wait for the result; callbacks run here meanwhile. Ctrl-C cancels the work, and is raised."""
        try:
            while (work := self._inbox.get()) is not None:
                work()
        except KeyboardInterrupt:
            self.cancel()
            raise
        finally:
            self._inbox.put(None)  # another wait returns as well
        return self._future.result()
