"""Long asynchronous work on a thread with an event loop of its own.

It works the same from a script, from a notebook whose main thread already runs a loop, and from asynchronous code.
Progress is reported in the thread that waits, where a notebook's output belongs to the cell.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent import futures
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
S = TypeVar("S")
Reported = TypeVar("Reported", contravariant=True)

_POLL_S = 0.1


class Progress(Protocol[Reported]):
    """Shows progress. Called in the thread that waits for the work."""

    def update(self, snapshot: Reported) -> None:
        """Show a snapshot of the work."""
        ...

    def finish(self, snapshot: Reported) -> None:
        """Show the last snapshot."""
        ...


class OwnThread(Generic[S, T]):
    """One piece of asynchronous work on a thread of its own.

    Args:
        work: The work; it is called with a function that takes snapshots.
        progress: Shows the snapshots.
        name: The thread's name.
        interrupted: Creates the error with which cancelled work ends.
    """

    def __init__(
        self,
        work: Callable[[Callable[[S], None]], Coroutine[Any, Any, T]],
        progress: Progress[S],
        *,
        name: str,
        interrupted: Callable[[], BaseException],
    ) -> None:
        self._work, self._progress, self._name, self._interrupted = work, progress, name, interrupted
        self._latest: S | None = None
        self._displayed_state: S | None = None
        self._outcome: futures.Future[T] = futures.Future()
        self._cancel: Callable[[], object] | None = None
        self._ready = threading.Event()

    def wait(self) -> T:
        """Start the work and wait for it. KeyboardInterrupt cancels the work and waits for its cleanup."""
        self._start()
        try:
            while not futures.wait([self._outcome], timeout=_POLL_S).done:
                self._show()
        except BaseException:
            self._stop()
            futures.wait([self._outcome])
            raise
        return self._finish()

    async def wait_async(self) -> T:
        """Start the work and await it; the caller's event loop keeps running."""
        self._start()
        outcome = asyncio.wrap_future(self._outcome)
        try:
            while not outcome.done():
                await asyncio.wait([outcome], timeout=_POLL_S)
                self._show()
        except BaseException:
            self._stop()
            await asyncio.wait([outcome])
            outcome.exception()  # marks it as retrieved: the caller's own reason to stop is the one that is raised
            raise
        return self._finish()

    def _start(self) -> None:
        # A daemon: a kernel that shuts down does not wait for the work, which can be resumed.
        threading.Thread(target=self._run, name=self._name, daemon=True).start()
        self._ready.wait()

    def _run(self) -> None:
        try:
            result = asyncio.run(self._main())
        except asyncio.CancelledError:
            self._outcome.set_exception(self._interrupted())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(result)
        finally:
            self._ready.set()  # also when the loop could not start, so that nobody waits forever

    async def _main(self) -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(self._work(self._take))
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        self._ready.set()
        return await task

    def _take(self, snapshot: S) -> None:
        self._latest = snapshot

    def _stop(self) -> None:
        if self._cancel and not self._outcome.done():
            self._cancel()

    def _show(self) -> None:
        latest = self._latest
        if latest is not None and latest is not self._displayed_state:
            self._displayed_state = latest
            self._progress.update(latest)

    def _finish(self) -> T:
        if self._latest is not None:
            self._progress.finish(self._latest)
        return self._outcome.result()
