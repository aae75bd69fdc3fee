"""An invocation's events as an iterator: one for plain code, and one for `async` code that blocks no event loop."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from types import TracebackType
from typing import Self

from loomlib.closing import Closing

from .events import InvocationEvent
from .exchange import Exchange
from .record import InvocationRecord

_CLOSE_TIMEOUT_S = 10.0


class _Stream:
    """An invocation that is cancelled when nobody holds its stream any more."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._ended = False

    @property
    def record(self) -> InvocationRecord | None:
        """The outcome; None while the response arrives."""
        return self._exchange.record

    def __del__(self) -> None:
        exchange = getattr(self, "_exchange", None)
        if exchange is not None:
            exchange.cancel()


class EventStream(_Stream, Closing):
    """The events of one invocation as they happen; it runs from the start, read or not.

    Leaving the loop early, `close()` and the end of a `with` block close the connection; the record then has the
    failure "cancelled" and what had arrived.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        events: queue.SimpleQueue[InvocationEvent | None] = queue.SimpleQueue()
        self._events = events
        self._future = exchange.start(events.put)
        self._future.add_done_callback(lambda _done: events.put(None))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> InvocationEvent:
        if self._ended:  # or closed by another thread, and the outcome may not be stored yet
            raise StopIteration
        event = self._events.get()
        if event is None:
            self._ended = True
            self._future.result(timeout=0)
            raise StopIteration
        return event

    def close(self) -> None:
        """Cancel, and wait until the outcome is stored."""
        self._ended = True
        self._exchange.cancel()
        # What prevented the request from being stored was raised before, or nobody asked for it.
        with contextlib.suppress(Exception):
            self._future.result(timeout=_CLOSE_TIMEOUT_S)


class AsyncEventStream(_Stream):
    """The events of one invocation for `async for`, on the running event loop; otherwise like `EventStream`."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[InvocationEvent | None] = asyncio.Queue()
        self._events = events

        def forward(event: InvocationEvent | None) -> None:
            with contextlib.suppress(RuntimeError):  # the caller's loop is closed; the record is stored anyway
                loop.call_soon_threadsafe(events.put_nowait, event)

        self._future = exchange.start(forward)
        self._future.add_done_callback(lambda _done: forward(None))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> InvocationEvent:
        if self._ended:
            raise StopAsyncIteration
        event = await self._events.get()
        if event is None:
            self._ended = True
            self._future.result(timeout=0)
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Cancel, and wait until the outcome is stored."""
        self._ended = True
        self._exchange.cancel()
        with contextlib.suppress(Exception):
            await asyncio.wrap_future(self._future)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def wait_for(exchange: Exchange) -> InvocationRecord:
    """Run the invocation and return its record; Ctrl-C cancels it, stores what arrived, and is raised."""
    future: Future[InvocationRecord] | None = None
    try:
        future = exchange.start()  # Ctrl-C may arrive after the start and before the assignment
        return future.result()
    except BaseException:
        _settle(exchange, future)
        raise


async def wait_for_async(exchange: Exchange) -> InvocationRecord:
    """Run the invocation and return its record; a cancelled caller cancels it too, and its outcome is stored."""
    future = exchange.start()
    try:
        # Shielded: a cancelled wrapper would cancel the future, and with it the record.
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        exchange.cancel()
        raise


def _settle(exchange: Exchange, future: Future[InvocationRecord] | None) -> None:
    if future is None:
        exchange.cancel()
    elif not future.done():
        exchange.cancel()
        with contextlib.suppress(Exception, FutureTimeout):
            future.result(timeout=_CLOSE_TIMEOUT_S)
