"""Only one process does a run at a time: a lease in the store, renewed while the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from loomlib.errors import EvalError, StoreError

if TYPE_CHECKING:
    from loomlib.store import Store


@asynccontextmanager
async def held_lease(store: Store, run_id: str) -> AsyncGenerator[list[StoreError], None]:
    """Hold the run's lease for the block. `EvalError` names the process that holds it already.

    When the lease is lost (this process slept longer than it lasts and another took over), the block's task is
    cancelled and the loss raised: two processes must not ask for one run. The block is given the list that the loss
    goes to, so that it does not write over what the other process says of the run.
    """
    from loomlib.store import LEASE_S

    try:
        lease = store.eval_runs.acquire(run_id)
    except StoreError as error:
        raise EvalError(error.what, on=error.on, try_=error.try_) from error
    owner = asyncio.current_task()
    lost: list[StoreError] = []

    async def keep() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            try:
                await asyncio.to_thread(store.eval_runs.renew, lease)
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
            store.eval_runs.release(lease)
