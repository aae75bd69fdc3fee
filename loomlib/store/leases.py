"""Leases: the exclusive right of one process to execute a study or a run, stored in its row.

They end by the clock of the database's machine: those of its clients may differ.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import RowMapping, Table, select, update

from ..errors import StoreError
from ..presentation.formats import seconds
from .database import Database, clock
from .writer import Writer, is_alive, this_process

LEASE_S: Final = 30.0
"""Seconds that a lease lasts unless it is renewed; a holder on this machine that has ended loses it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to execute the study or run `id` until the time `until`, unless renewed."""

    id: str
    token: str
    until: datetime


class Leases:
    """The leases on the rows of one table with the columns `id` and `lease_…`. `noun` names a row in messages."""

    def __init__(self, database: Database, table: Table, noun: str) -> None:
        self._database, self._table, self._noun = database, table, noun

    def acquire(self, id: str, *, lease_s: float = LEASE_S) -> Lease:
        """Acquire the lease.

        Raises:
            StoreError: Another process holds it: a running one of this machine, whatever this machine's time was set
                to, or one elsewhere whose lease has not expired. The message names it.
        """
        me = this_process()
        table = self._table
        with self._database.write() as connection:
            # SQLite ignores FOR UPDATE; its write transactions are exclusive.
            record = connection.execute(select(table).where(table.c.id == id).with_for_update()).mappings().first()
            if record is None:
                raise StoreError(f"No such {self._noun}", on=id, try_=f"the id of a stored {self._noun}")
            now = clock(connection)
            lease = Lease(id=id, token=uuid.uuid4().hex, until=now + timedelta(seconds=lease_s))
            if (holder := _holder(record)) and _holds(holder, me, is_valid=record["lease_until"] > now):
                raise StoreError(
                    f"The {self._noun} is being run by process {holder.pid} on {holder.host}",
                    on=id,
                    try_="wait for it, or stop that process; elsewhere its lease ends by itself "
                    f"{seconds(max(0.0, (record['lease_until'] - now).total_seconds()))} after its last renewal",
                )
            connection.execute(
                update(table)
                .where(table.c.id == id)
                .values(
                    lease_token=lease.token,
                    lease_host=me.host,
                    lease_pid=me.pid,
                    lease_born=me.born,
                    lease_until=lease.until,
                )
            )
        return lease

    def renew(self, lease: Lease, *, lease_s: float = LEASE_S) -> Lease:
        """Renew the lease.

        Raises:
            StoreError: Another process has taken it: stop.
        """
        mine = update(self._table).where(self._table.c.id == lease.id, self._table.c.lease_token == lease.token)
        with self._database.write() as connection:
            until = clock(connection) + timedelta(seconds=lease_s)
            renewed = connection.execute(mine.values(lease_until=until)).rowcount
        if renewed == 0:
            raise StoreError(
                f"The {self._noun} was taken over by another process",
                on=lease.id,
                try_="wait until that process has ended, then resume",
            )
        return Lease(id=lease.id, token=lease.token, until=until)

    def release(self, lease: Lease) -> None:
        """Release the lease; no effect when it was already lost."""
        mine = update(self._table).where(self._table.c.id == lease.id, self._table.c.lease_token == lease.token)
        with self._database.write() as connection:
            connection.execute(
                mine.values(lease_token=None, lease_host=None, lease_pid=None, lease_born=None, lease_until=None)
            )


def _holds(holder: Writer, me: Writer, *, is_valid: bool) -> bool:
    if holder == me:
        return is_valid  # another thread's, or one that was not released
    alive = is_alive(holder)
    return is_valid if alive is None else alive


def _holder(record: RowMapping) -> Writer | None:
    if record["lease_token"] is None:
        return None
    return Writer(host=record["lease_host"], pid=record["lease_pid"], born=record["lease_born"])
