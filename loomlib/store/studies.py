"""Studies, and the lease that keeps two kernels from running one study at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from ..errors import StoreError
from .database import Database
from .leases import LEASE_S, Lease, Leases
from .rows import STUDY_STATES, StudyRow, row
from .tables import studies


class Studies:
    """The studies of all agents."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = Leases(database, studies, "study")

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

    def acquire(self, id: str, *, lease_s: float = LEASE_S) -> Lease:
        """The lease on the study. `StoreError` names the process that holds it: alive, or elsewhere and not expired."""
        return self._leases.acquire(id, lease_s=lease_s)

    def renew(self, lease: Lease, *, lease_s: float = LEASE_S) -> Lease:
        """The lease, prolonged. `StoreError` when somebody else has taken it: stop measuring."""
        return self._leases.renew(lease, lease_s=lease_s)

    def release(self, lease: Lease) -> None:
        """Gives the lease back; nothing happens when it was lost already."""
        self._leases.release(lease)
