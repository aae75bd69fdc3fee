"""Storage of studies."""

from __future__ import annotations

from dataclasses import asdict

from .database import Database
from .rows import STUDY_STATES, StudyRow
from .stored_runs import StoredRuns
from .tables import studies


class Studies(StoredRuns[StudyRow]):
    """The studies of all agents."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, studies, StudyRow, STUDY_STATES, "a study", "the id of a stored study")

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

    def list(
        self, agent: str | None = None, *, scope: str | None = None, limit: int | None = 100
    ) -> tuple[StudyRow, ...]:
        """Return studies, newest first.

        Args:
            agent: Only studies of the agent with this ARN.
            scope: Only studies of this environment.
            limit: The maximum number of studies; None for all.
        """
        return self.newest(limit, agent_arn=agent, scope=scope)
