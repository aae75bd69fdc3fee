"""Storage of eval sets and evaluation runs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from .database import Database
from .eval_rows import EVAL_RUN_STATES, EvalRunRow, StoredSet
from .eval_tables import eval_results, eval_runs, eval_sets
from .rows import row
from .stored_runs import StoredRuns


class EvalRuns(StoredRuns[EvalRunRow]):
    """The evaluation runs and their eval sets."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, eval_runs, EvalRunRow, EVAL_RUN_STATES, "an evaluation", "loom runs lists them")

    def create(self, run: EvalRunRow, cases: StoredSet) -> None:
        """Store a new run, and its eval set unless it is stored already.

        Raises:
            StoreError: The run's id is taken.
        """
        with self._database.write() as connection:
            existing = connection.execute(select(eval_sets.c.digest).where(eval_sets.c.digest == cases.digest)).first()
            if existing is None:
                try:
                    with connection.begin_nested():
                        connection.execute(eval_sets.insert().values(_plain(cases)))
                except IntegrityError:  # another process was faster (not on SQLite, which has one writer at a time)
                    pass
            connection.execute(eval_runs.insert().values(_plain(run)))

    def list(
        self, *, agent_arn: str | None = None, set_digest: str | None = None, limit: int | None = 100
    ) -> tuple[EvalRunRow, ...]:
        """Return runs, newest first; only those of one agent and of one set where given.

        Args:
            agent_arn: Only runs of this agent.
            set_digest: Only runs of the eval set with this digest.
            limit: The maximum number of runs; None for all.
        """
        return self.newest(limit, agent_arn=agent_arn, set_digest=set_digest)

    def get_set(self, digest: str) -> StoredSet | None:
        """Return the eval set with this hash, or None."""
        with self._database.read() as connection:
            record = connection.execute(select(eval_sets).where(eval_sets.c.digest == digest)).mappings().first()
        return None if record is None else row(StoredSet, record)

    def counts(self) -> dict[str, int]:
        """Count the results of each run."""
        chosen = select(eval_results.c.run_id, func.count()).group_by(eval_results.c.run_id)
        with self._database.read() as connection:
            return {id: count for id, count in connection.execute(chosen)}


def _plain(row: EvalRunRow | StoredSet) -> dict[str, Any]:
    # Not `asdict`, which copies every case's text.
    return {field.name: getattr(row, field.name) for field in fields(row)}
