"""Only one process does a piece of long work at a time: a lease in the store, renewed while the work goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Generic, Protocol, Self, TypeVar

from loomlib.errors import LoomError, StoreError

L = TypeVar("L")


class Leases(Protocol[L]):
    """Where leases are kept: `Store.studies`, `Store.eval_runs`. Each raises `StoreError` when somebody else has it."""

    def acquire(self, id: str, /) -> L: ...
    def renew(self, lease: L, /) -> L: ...
    def release(self, lease: L, /) -> None: ...


class Holding(Generic[L]):
    """The lease on the work `id`, for a block that calls `renew()` while it goes on (see `held_lease` for one that
    awaits). `refused` names the process that holds it already.
    """

    def __init__(self, leases: Leases[L], id: str, *, renew_every_s: float, refused: type[LoomError]) -> None:
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
        """Prolong it when it is time to. `StoreError` when another process has taken it."""
        if self._lease is not None and (at_once or time.monotonic() - self._renewed >= self._renew_every_s):
            self._lease = self._leases.renew(self._lease)
            self._renewed = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self._lease is not None:
            with suppress(StoreError):  # it expires by itself
                self._leases.release(self._lease)


@asynccontextmanager
async def held_lease(
    leases: Leases[L], id: str, *, renew_every_s: float, refused: type[LoomError]
) -> AsyncGenerator[list[StoreError], None]:
    """Hold the lease on the work `id` for the block, renewed beside it.

    When the lease is lost (this process slept longer than it lasts and another took over), the block's task is
    cancelled and the loss raised: two processes must not do one work. The block is given the list that the loss goes
    to, so that it does not write over what the other process says of the work.
    """
    owner = asyncio.current_task()
    lost: list[StoreError] = []
    with Holding(leases, id, renew_every_s=renew_every_s, refused=refused) as held:

        async def keep() -> None:
            while True:
                await asyncio.sleep(renew_every_s)
                try:
                    await asyncio.to_thread(held.renew, at_once=True)
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
