"""Lock a stored run for one process at a time, and store an interruption."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from loomlib.errors import LoomError, StoreError
from loomlib.jobs import LeaseStore, held_lease

L = TypeVar("L")


@asynccontextmanager
async def leased_run(
    leases: LeaseStore[L], id: str, *, refused: type[LoomError], interrupted: Callable[[BaseException], None]
) -> AsyncGenerator[Callable[[], None], None]:
    """Hold the lease on a stored run for the block.

    Args:
        leases: The store's leases of this kind of run.
        id: The run.
        refused: The error raised when another process holds the lease.
        interrupted: Stores the interruption when the block raises, unless the lease was lost: the run then belongs to
            another process.

    Yields:
        A function that raises `StoreError` when the lease is lost. Call it before storing the end of the run.
    """
    from loomlib.store import LEASE_S

    async with held_lease(leases, id, renew_every_s=LEASE_S / 3, refused=refused) as lost:

        def check() -> None:
            if lost:
                raise lost[0]

        try:
            yield check
            check()
        except BaseException as error:
            if not lost:
                with suppress(StoreError):  # a full disk cannot store the interruption either; the rows say enough
                    interrupted(error)
            raise
