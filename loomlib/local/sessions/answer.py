"""An agent's response body as an iterator that always returns its connection to the pool."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from ..contract import AgentProcessError, SessionEndedError
from .wire import AgentConnection, ConnectionClosedError, NotHttpError


class AnswerTooLargeError(Exception):
    """The answer is larger than the limit."""


class AnswerChunks(AsyncIterator[bytes]):
    """The chunks of a response as they arrive.

    Iteration raises `AgentProcessError` if the agent's response ends too early, and `SessionEndedError` if the session
    ends. `aclose()`, or dropping the last reference, closes the connection of an answer that was not read to its end,
    so that the agent sees its client disconnect.
    """

    def __init__(
        self,
        connection: AgentConnection,
        *,
        timeout_s: float,
        limit_bytes: int | None,
        release: Callable[[AgentConnection], None],
        explain: Callable[[Exception], Awaitable[AgentProcessError | SessionEndedError]],
    ) -> None:
        self._connection, self._timeout_s = connection, timeout_s
        self._release, self._explain = release, explain
        self._loop = asyncio.get_running_loop()
        self._is_done = False
        self._left_bytes = limit_bytes

    def __aiter__(self) -> AnswerChunks:
        return self

    async def __anext__(self) -> bytes:
        if self._is_done:
            raise StopAsyncIteration
        try:
            if self._connection.chunk_waits:
                chunk = await self._connection.next_chunk()
            else:
                async with asyncio.timeout(self._timeout_s):
                    chunk = await self._connection.next_chunk()
        except TimeoutError:
            self._finish()
            raise await self._explain(TimeoutError()) from None
        except (ConnectionClosedError, NotHttpError) as failure:
            explained = await self._explain(failure)
            self._finish()
            raise explained from failure
        except BaseException:
            self._finish()
            raise
        if chunk is None:
            self._finish()
            raise StopAsyncIteration
        if self._left_bytes is not None:
            self._left_bytes -= len(chunk)
            if self._left_bytes < 0:
                self._finish()
                raise await self._explain(AnswerTooLargeError())
        return chunk

    async def aclose(self) -> None:
        """Stop reading; has no effect after the last chunk."""
        self._finish()

    def _finish(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._release(self._connection)

    def __del__(self) -> None:
        if not self._is_done:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the connection with it
                self._loop.call_soon_threadsafe(self._release, self._connection)
