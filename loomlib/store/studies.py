"""Studies, and the lease that keeps two kernels from running one study at once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import RowMapping, select, update

from ..errors import StoreError
from .database import Database
from .rows import STUDY_STATES, StudyRow, row
from .tables import studies
from .writer import Writer, is_alive, this_process

LEASE_S: Final = 30.0
"""How long a lease lasts unless it is renewed; a dead holder on this machine loses it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLease:
    """The right to run a study, until `until` unless renewed."""

    study_id: str
    token: str
    until: datetime


class Studies:
    """The studies of all agents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, study: StudyRow) -> StudyRow:
        """Stores a new study and returns it as stored; `StoreError` when its id is taken."""
        with self._database.write() as connection:
            connection.execute(studies.insert().values(asdict(study)))
        stored = self.get(study.id)
        assert stored is not None
        return stored

    def get(self, id: str) -> StudyRow | None:
        """The study, or None."""
        with self._database.read() as connection:
            found = connection.execute(select(studies).where(studies.c.id == id)).mappings().first()
        return None if found is None else row(StudyRow, found)

    def list(
        self, agent: str | None = None, *, scope: str | None = None, limit: int | None = 100
    ) -> tuple[StudyRow, ...]:
        """Studies, newest first; of the agent with the ARN `agent`, and of `scope`, where given."""
        chosen = select(studies).order_by(studies.c.created_at.desc(), studies.c.id.desc()).limit(limit)
        if agent is not None:
            chosen = chosen.where(studies.c.agent_arn == agent)
        if scope is not None:
            chosen = chosen.where(studies.c.scope == scope)
        with self._database.read() as connection:
            found = connection.execute(chosen).mappings().all()
        return tuple(row(StudyRow, each) for each in found)

    def save_state(
        self,
        id: str,
        state: str,
        *,
        finished_at: datetime | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> None:
        """Sets the state, and the end and the environment where given."""
        if state not in STUDY_STATES:
            raise ValueError(f"a study is {', '.join(STUDY_STATES)}, not {state!r}")
        values: dict[str, Any] = {"state": state}
        if finished_at is not None:
            values["finished_at"] = finished_at
        if environment is not None:
            values["environment"] = dict(environment)
        with self._database.write() as connection:
            changed = connection.execute(update(studies).where(studies.c.id == id).values(values)).rowcount
        if changed == 0:
            raise StoreError("No such study", on=id)

    def acquire(self, id: str, *, lease_s: float = LEASE_S) -> StudyLease:
        """The lease on the study. `StoreError` names the process that holds it: alive, or elsewhere and not expired."""
        now = datetime.now(UTC)
        me = this_process()
        lease = StudyLease(study_id=id, token=uuid.uuid4().hex, until=now + timedelta(seconds=lease_s))
        with self._database.write() as connection:
            # FOR UPDATE is left out by SQLite, whose write transactions are exclusive anyway.
            found = connection.execute(select(studies).where(studies.c.id == id).with_for_update()).mappings().first()
            if found is None:
                raise StoreError("No such study", on=id)
            if (holder := _holder(found)) and found["lease_until"] > now and is_alive(holder) is not False:
                raise StoreError(
                    f"The study is being run by process {holder.pid} on {holder.host}",
                    on=id,
                    try_="wait for it, or stop that process; its lease ends "
                    f"{(found['lease_until'] - now).total_seconds():.0f} s after its last sign of life",
                )
            connection.execute(
                update(studies)
                .where(studies.c.id == id)
                .values(
                    lease_token=lease.token,
                    lease_host=me.host,
                    lease_pid=me.pid,
                    lease_born=me.born,
                    lease_until=lease.until,
                )
            )
        return lease

    def renew(self, lease: StudyLease, *, lease_s: float = LEASE_S) -> StudyLease:
        """The lease, prolonged. `StoreError` when somebody else has taken it: stop measuring."""
        until = datetime.now(UTC) + timedelta(seconds=lease_s)
        mine = update(studies).where(studies.c.id == lease.study_id, studies.c.lease_token == lease.token)
        with self._database.write() as connection:
            kept = connection.execute(mine.values(lease_until=until)).rowcount
        if kept == 0:
            raise StoreError("The study was taken over by another process", on=lease.study_id)
        return StudyLease(study_id=lease.study_id, token=lease.token, until=until)

    def release(self, lease: StudyLease) -> None:
        """Gives the lease back; nothing happens when it was lost already."""
        mine = update(studies).where(studies.c.id == lease.study_id, studies.c.lease_token == lease.token)
        with self._database.write() as connection:
            connection.execute(
                mine.values(lease_token=None, lease_host=None, lease_pid=None, lease_born=None, lease_until=None)
            )


def _holder(found: RowMapping) -> Writer | None:
    if found["lease_token"] is None:
        return None
    return Writer(host=found["lease_host"], pid=found["lease_pid"], born=found["lease_born"])
