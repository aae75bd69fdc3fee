"""Long work has a thread and an event loop of its own, whoever waits for it.

So it works the same from a script, from a notebook whose main thread already runs a loop, and from asynchronous code;
and progress is told in the waiter's thread, where a notebook's output belongs to the cell.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent import futures
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
S = TypeVar("S")
Told = TypeVar("Told", contravariant=True)

_LOOK_EVERY_S = 0.1


class Progress(Protocol[Told]):
    """Somebody who is told how far the work is, by snapshots, in the thread that waits for it."""

    def update(self, snapshot: Told) -> None: ...
    def finish(self, snapshot: Told) -> None: ...


class OwnThread(Generic[S, T]):
    """One piece of asynchronous work on a thread of its own. `work` is given a function that takes snapshots.

    `name` is the thread's; `interrupted` makes the error that cancelled work ends with.
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
        self._told: S | None = None
        self._outcome: futures.Future[T] = futures.Future()
        self._cancel: Callable[[], object] | None = None
        self._ready = threading.Event()

    def wait(self) -> T:
        """Start the work and wait for it. A KeyboardInterrupt cancels the work and waits until it has tidied up."""
        self._start()
        try:
            while not futures.wait([self._outcome], timeout=_LOOK_EVERY_S).done:
                self._tell()
        except BaseException:
            self._stop()
            futures.wait([self._outcome])
            raise
        return self._finish()

    async def wait_async(self) -> T:
        """The same for a caller with an event loop, which keeps turning meanwhile."""
        self._start()
        outcome = asyncio.wrap_future(self._outcome)
        try:
            while not outcome.done():
                await asyncio.wait([outcome], timeout=_LOOK_EVERY_S)
                self._tell()
        except BaseException:
            self._stop()
            await asyncio.wait([outcome])
            outcome.exception()  # looked at: the caller's own reason to stop is the one that is raised
            raise
        return self._finish()

    def _start(self) -> None:
        # A daemon: a kernel that is told to end does not wait for the work, which can be taken up again.
        threading.Thread(target=self._run, name=self._name, daemon=True).start()
        self._ready.wait()

    def _run(self) -> None:
        try:
            result = asyncio.run(self._main())
        except asyncio.CancelledError:
            self._outcome.set_exception(self._interrupted())
        except BaseException as error:  # noqa: BLE001 - carried over to the waiter, who raises it
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(result)
        finally:
            self._ready.set()  # also when the loop could not begin: nobody waits for it forever

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

    def _tell(self) -> None:
        latest = self._latest
        if latest is not None and latest is not self._told:
            self._told = latest
            self._progress.update(latest)

    def _finish(self) -> T:
        if self._latest is not None:
            self._progress.finish(self._latest)
        return self._outcome.result()
