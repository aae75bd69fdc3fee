"""Leases in the store, renewed during long work: only one process at a time does a piece of work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Generic, Protocol, Self, TypeVar

from loomlib.errors import LoomError, StoreError

L = TypeVar("L")


class LeaseStore(Protocol[L]):
    """Where leases are stored: `Store.studies`, `Store.eval_runs`."""

    def acquire(self, id: str, /) -> L:
        """Return the lease on the work `id`; raise `StoreError` when another process holds it."""
        ...

    def renew(self, lease: L, /) -> L:
        """Return the lease with a later end; raise `StoreError` when another process has taken it."""
        ...

    def release(self, lease: L, /) -> None:
        """Release the lease."""
        ...


class Holding(Generic[L]):
    """The lease on a piece of work, for a synchronous block that calls `renew()`; see also `held_lease`.

    Args:
        leases: Where leases are stored.
        id: The work.
        renew_every_s: Seconds between renewals.
        refused: Error to raise when another process holds the lease; its message names that process.
    """

    def __init__(self, leases: LeaseStore[L], id: str, *, renew_every_s: float, refused: type[LoomError]) -> None:
        self._leases, self._id, self._refused = leases, id, refused
        self._renew_every_s = renew_every_s
        self._lease: L | None = None
        self._renewed = 0.0

    def __enter__(self) -> Self:
        try:
            self._lease = self._leases.acquire(self._id)
        except StoreError as error:
            raise self._refused(error.what, on=error.on, try_=error.try_) from error
        self._renewed = time.monotonic()
        return self

    def renew(self, *, at_once: bool = False) -> None:
        """Renew the lease when it is due; raise `StoreError` when another process has taken it.

        Args:
            at_once: Whether to renew it even when it is not due.
        """
        if self._lease is not None and (at_once or time.monotonic() - self._renewed >= self._renew_every_s):
            self._lease = self._leases.renew(self._lease)
            self._renewed = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self._lease is not None:
            with suppress(StoreError):  # it expires anyway
                self._leases.release(self._lease)


@asynccontextmanager
async def held_lease(
    leases: LeaseStore[L], id: str, *, renew_every_s: float, refused: type[LoomError]
) -> AsyncGenerator[list[StoreError], None]:
    """Hold the lease on a piece of work for the block; renew it in the background.

    When the lease is lost (this process was suspended for longer than it lasts and another one took over), the block's
    task is cancelled and the loss is raised: two processes must not do the same work.

    Args:
        leases: Where leases are stored.
        id: The work.
        renew_every_s: Seconds between renewals.
        refused: Error to raise when another process holds the lease.

    Yields:
        A list that receives the loss, so that the block does not overwrite the state that the other process stores.
    """
    owner = asyncio.current_task()
    lost: list[StoreError] = []
    with Holding(leases, id, renew_every_s=renew_every_s, refused=refused) as lease:

        async def keep() -> None:
            while True:
                await asyncio.sleep(renew_every_s)
                try:
                    await asyncio.to_thread(lease.renew, at_once=True)
                except StoreError as error:
                    lost.append(error)
                    if owner is not None:
                        owner.cancel()
                    return

        keeper = asyncio.create_task(keep())
        try:
            yield lost
        except asyncio.CancelledError:
            if lost:
                raise lost[0] from None
            raise
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
