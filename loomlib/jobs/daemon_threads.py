"""Run user-supplied functions, each in a daemon thread that does not keep the process alive.

An executor has few threads and waits for them at the end. A function that hangs would delay others, which would then
seem late too, and would keep the run open beyond its own timeout.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def begin(function: Callable[[], T]) -> asyncio.Future[T]:
    """Start `function` in a daemon thread with a copy of the caller's context.

    A caller that stops waiting cancels the future; the thread runs on.

    Returns:
        A future with what `function` returns or raises.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | None, error: BaseException | None) -> None:
        if future.done():  # cancelled meanwhile
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # pyright: ignore[reportArgumentType] - without an error there is a result

    def call() -> None:
        result: T | None = None
        raised: BaseException | None = None
        try:
            result = function()
        except StopIteration as error:  # a future does not accept it: its caller would wait forever
            raised = RuntimeError("it raised StopIteration")
            raised.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - carried over to the waiter, who raises it
            raised = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, result, raised)

    threading.Thread(target=copy_context().run, args=(call,), name="loom-function", daemon=True).start()
    return future


async def in_thread(function: Callable[[], T]) -> T:
    """Run a plain function in a daemon thread and wait for its result.

    A cancelled caller does not wait for the thread.
    """
    return await begin(function)
