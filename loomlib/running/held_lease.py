"""Only one process does a piece of long work at a time: a lease in the store, renewed while the work goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Protocol, TypeVar

from loomlib.errors import LoomError, StoreError

L = TypeVar("L")


class Leases(Protocol[L]):
    """Where leases are kept: `Store.studies`, `Store.eval_runs`. Each raises `StoreError` when somebody else has it."""

    def acquire(self, id: str, /) -> L: ...
    def renew(self, lease: L, /) -> L: ...
    def release(self, lease: L, /) -> None: ...


@asynccontextmanager
async def held_lease(
    leases: Leases[L], id: str, *, renew_every_s: float, refused: type[LoomError]
) -> AsyncGenerator[list[StoreError], None]:
    """Hold the lease on the work `id` for the block. `refused` names the process that holds it already.

    When the lease is lost (this process slept longer than it lasts and another took over), the block's task is
    cancelled and the loss raised: two processes must not do one work. The block is given the list that the loss goes
    to, so that it does not write over what the other process says of the work.
    """
    try:
        lease = leases.acquire(id)
    except StoreError as error:
        raise refused(error.what, on=error.on, try_=error.try_) from error
    owner = asyncio.current_task()
    lost: list[StoreError] = []

    async def keep() -> None:
        while True:
            await asyncio.sleep(renew_every_s)
            try:
                await asyncio.to_thread(leases.renew, lease)
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
        with suppress(StoreError):  # it expires by itself
            leases.release(lease)
