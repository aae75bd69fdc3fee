"""Slots that limit how much work runs at once; their number can change while they are in use."""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """A semaphore whose capacity can change, as workers of a cluster come and go.

    Examples:
        >>> slots = Slots(4)
        >>> async with slots:
        ...     ...

    Args:
        capacity: How many may be held at once; with 0 everybody waits until `resize`.
    """

    def __init__(self, capacity: int = 0) -> None:
        self._capacity, self._held_count = capacity, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def capacity(self) -> int:
        """How many may be held at once."""
        return self._capacity

    def resize(self, capacity: int) -> None:
        """Change the capacity. When it shrinks, nobody loses a slot; fewer are given out.

        Args:
            capacity: The new capacity.
        """
        self._capacity = capacity
        self._admit()

    async def __aenter__(self) -> None:
        if self._held_count < self._capacity and not self._waiting:
            self._held_count += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot was given in the same step as the cancellation
                self._release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        self._held_count -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._held_count < self._capacity:
            turn = self._waiting.popleft()
            if not turn.done():
                self._held_count += 1
                turn.set_result(None)
