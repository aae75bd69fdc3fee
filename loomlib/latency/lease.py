"""Only one process runs a study at a time: a lease in the store, renewed while the study runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from loomlib.errors import StoreError, StudyError

if TYPE_CHECKING:
    from loomlib.store import Store


@asynccontextmanager
async def held_lease(store: Store, study_id: str) -> AsyncGenerator[None, None]:
    """Hold the study's lease for the block. `StudyError` names the process that holds it already.

    When the lease is lost (this process slept longer than the lease lasts and another took over), the block's task is
    cancelled and the loss raised: two processes must not measure one study.
    """
    from loomlib.store import LEASE_S

    try:
        lease = store.studies.acquire(study_id)
    except StoreError as error:
        raise StudyError(error.what, on=error.on, try_=error.try_) from error
    owner = asyncio.current_task()
    lost: list[StoreError] = []

    async def keep() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            try:
                await asyncio.to_thread(store.studies.renew, lease)
            except StoreError as error:
                lost.append(error)
                if owner is not None:
                    owner.cancel()
                return

    keeper = asyncio.create_task(keep())
    try:
        yield
    except asyncio.CancelledError:
        if lost:
            raise lost[0] from None
        raise
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper
        with suppress(StoreError):  # it expires by itself
            store.studies.release(lease)
