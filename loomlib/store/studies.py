"""Storage of studies, and the lease that keeps two processes from running one study at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from ..errors import StoreError
from .database import Database
from .leases import Leases
from .rows import STUDY_STATES, StudyRow, row
from .tables import studies


class Studies(Leases):
    """The studies of all agents."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, studies, "study")

    def create(self, study: StudyRow) -> StudyRow:
        """Store a new study and return it as stored.

        Raises:
            StoreError: The id is taken.
        """
        with self._database.write() as connection:
            connection.execute(studies.insert().values(asdict(study)))
        stored = self.get(study.id)
        assert stored is not None
        return stored

    def get(self, id: str) -> StudyRow | None:
        """Return the study, or None."""
        with self._database.read() as connection:
            record = connection.execute(select(studies).where(studies.c.id == id)).mappings().first()
        return None if record is None else row(StudyRow, record)

    def list(
        self, agent: str | None = None, *, scope: str | None = None, limit: int | None = 100
    ) -> tuple[StudyRow, ...]:
        """Return studies, newest first.

        Args:
            agent: Only studies of the agent with this ARN.
            scope: Only studies of this environment.
            limit: The most studies; None for all.
        """
        chosen = select(studies).order_by(studies.c.created_at.desc(), studies.c.id.desc()).limit(limit)
        if agent is not None:
            chosen = chosen.where(studies.c.agent_arn == agent)
        if scope is not None:
            chosen = chosen.where(studies.c.scope == scope)
        with self._database.read() as connection:
            records = connection.execute(chosen).mappings().all()
        return tuple(row(StudyRow, record) for record in records)

    def save_state(
        self,
        id: str,
        state: str,
        *,
        finished_at: datetime | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> None:
        """Set the state, and the end time and the environment where given.

        Args:
            id: The study.
            state: One of `STUDY_STATES`.
            finished_at: When the study ended.
            environment: What the study was measured with, as JSON.

        Raises:
            ValueError: The state is unknown.
            StoreError: There is no such study.
        """
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
            raise StoreError("No such study", on=id, try_="the id of a stored study")
