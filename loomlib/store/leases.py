"""The right of one process to do one piece of long work, in the row that the work is: a study, a run."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import RowMapping, Table, select, update

from ..errors import StoreError
from .database import Database
from .writer import Writer, is_alive, this_process

LEASE_S: Final = 30.0
"""How long a lease lasts unless it is renewed; a dead holder on this machine loses it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to go on with the work `id`, until `until` unless renewed."""

    id: str
    token: str
    until: datetime


class Leases:
    """The leases on the rows of one table, which has the columns `id` and `lease_…`. `noun` is what a row is."""

    def __init__(self, database: Database, table: Table, noun: str) -> None:
        self._database, self._table, self._noun = database, table, noun

    def acquire(self, id: str, *, lease_s: float = LEASE_S) -> Lease:
        """The lease. `StoreError` names the process that holds it: alive, or elsewhere and not expired."""
        now = datetime.now(UTC)
        me = this_process()
        table = self._table
        lease = Lease(id=id, token=uuid.uuid4().hex, until=now + timedelta(seconds=lease_s))
        with self._database.write() as connection:
            # FOR UPDATE is left out by SQLite, whose write transactions are exclusive anyway.
            found = connection.execute(select(table).where(table.c.id == id).with_for_update()).mappings().first()
            if found is None:
                raise StoreError(f"No such {self._noun}", on=id)
            if (holder := _holder(found)) and found["lease_until"] > now and is_alive(holder) is not False:
                raise StoreError(
                    f"The {self._noun} is being run by process {holder.pid} on {holder.host}",
                    on=id,
                    try_="wait for it, or stop that process; its lease ends "
                    f"{(found['lease_until'] - now).total_seconds():.0f} s after its last sign of life",
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
        """The lease, prolonged. `StoreError` when somebody else has taken it: stop."""
        until = datetime.now(UTC) + timedelta(seconds=lease_s)
        mine = update(self._table).where(self._table.c.id == lease.id, self._table.c.lease_token == lease.token)
        with self._database.write() as connection:
            kept = connection.execute(mine.values(lease_until=until)).rowcount
        if kept == 0:
            raise StoreError(f"The {self._noun} was taken over by another process", on=lease.id)
        return Lease(id=lease.id, token=lease.token, until=until)

    def release(self, lease: Lease) -> None:
        """Gives the lease back; nothing happens when it was lost already."""
        mine = update(self._table).where(self._table.c.id == lease.id, self._table.c.lease_token == lease.token)
        with self._database.write() as connection:
            connection.execute(
                mine.values(lease_token=None, lease_host=None, lease_pid=None, lease_born=None, lease_until=None)
            )


def _holder(found: RowMapping) -> Writer | None:
    if found["lease_token"] is None:
        return None
    return Writer(host=found["lease_host"], pid=found["lease_pid"], born=found["lease_born"])
