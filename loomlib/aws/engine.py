"""One background event loop that carries every measured request of the process.

A notebook's main thread runs its own loop and does other work. This thread does nothing but network I/O, so that the
arrival time of bytes is recorded without delay; it serves synchronous callers and any number of event loops.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from aiohttp import ClientSession

T = TypeVar("T")


class Engine:
    """A daemon thread with an event loop and one keep-alive HTTP session per endpoint. Use `shared_engine()`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._sessions: dict[str, ClientSession] = {}
        self._thread = threading.Thread(target=self._run, name="loom-engine", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` on the engine's loop, from any thread. Cancelling the future cancels the work."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("The engine is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run `action` on the engine's loop, from any thread; no effect on a closed engine."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action)

    async def session(self, key: str, make: Callable[[], ClientSession]) -> ClientSession:
        """Return the HTTP session for `key`, created at first use. Call it on the engine's loop only."""
        session = self._sessions.get(key)
        if session is None or session.closed:
            session = self._sessions[key] = make()
        return session

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._loop.is_closed()

    def close(self) -> None:
        """Cancel pending work, close every connection and stop the thread. Closing twice has no effect."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._wind_down(), self._loop).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    async def _wind_down(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()
        await asyncio.sleep(0)  # transports close on the next turn of the loop

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


_shared: Engine | None = None
_shared_pid = 0
_lock = threading.Lock()


def shared_engine() -> Engine:
    """Return the engine of this process. A forked child gets its own: threads and sockets do not survive a fork."""
    global _shared, _shared_pid
    with _lock:
        if _shared is None or _shared_pid != os.getpid() or _shared.is_closed:
            _shared, _shared_pid = Engine(), os.getpid()
        return _shared
