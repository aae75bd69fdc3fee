"""Storage of eval sets and evaluation runs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import func, select, update

from ..errors import StoreError
from .database import Database
from .eval_rows import EVAL_RUN_STATES, EvalRunRow, StoredSet
from .eval_tables import eval_results, eval_runs, eval_sets
from .leases import Leases

_RUN = [eval_runs.c[field.name] for field in fields(EvalRunRow)]
_EMPTY: dict[str, Any] = {"labels": (), "design": {}, "summary": {}, "details": {}}


class EvalRuns(Leases):
    """The evaluation runs, and the lease that keeps two processes from executing one run at the same time."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, eval_runs, "evaluation")

    def create(self, run: EvalRunRow, cases: StoredSet) -> None:
        """Store a new run, and its eval set unless it is stored already.

        Raises:
            StoreError: The run's id is taken.
        """
        with self._database.write() as connection:
            known = connection.execute(select(eval_sets.c.digest).where(eval_sets.c.digest == cases.digest)).first()
            if known is None:
                connection.execute(eval_sets.insert().values(_plain(cases)))
            connection.execute(eval_runs.insert().values(_plain(run)))

    def get(self, id: str) -> EvalRunRow | None:
        """Return the run, or None."""
        with self._database.read() as connection:
            record = connection.execute(select(*_RUN).where(eval_runs.c.id == id)).mappings().first()
        return None if record is None else EvalRunRow(**_filled(record))

    def list(
        self, *, agent_arn: str | None = None, set_digest: str | None = None, limit: int | None = 100
    ) -> tuple[EvalRunRow, ...]:
        """Return runs, newest first; only those of one agent and of one set where given.

        Args:
            agent_arn: Only runs of this agent.
            set_digest: Only runs of the eval set with this digest.
            limit: The most runs; None for all.
        """
        chosen = select(*_RUN).order_by(eval_runs.c.created_at.desc(), eval_runs.c.id.desc()).limit(limit)
        if agent_arn is not None:
            chosen = chosen.where(eval_runs.c.agent_arn == agent_arn)
        if set_digest is not None:
            chosen = chosen.where(eval_runs.c.set_digest == set_digest)
        with self._database.read() as connection:
            records = connection.execute(chosen).mappings().all()
        return tuple(EvalRunRow(**_filled(record)) for record in records)

    def save(self, id: str, **values: Any) -> None:
        """Set any fields of `EvalRunRow`."""
        if values.get("state", EVAL_RUN_STATES[0]) not in EVAL_RUN_STATES:
            raise ValueError(f"an evaluation is {', '.join(EVAL_RUN_STATES)}, not {values['state']!r}")
        with self._database.write() as connection:
            changed = connection.execute(update(eval_runs).where(eval_runs.c.id == id).values(values)).rowcount
        if changed == 0:
            raise StoreError("No such evaluation", on=id, try_="loom runs lists them")

    def get_set(self, digest: str) -> StoredSet | None:
        """Return the eval set with this hash, or None."""
        with self._database.read() as connection:
            record = connection.execute(select(eval_sets).where(eval_sets.c.digest == digest)).mappings().first()
        return None if record is None else StoredSet(**_filled(record))

    def counts(self) -> dict[str, int]:
        """Count the results of each run."""
        chosen = select(eval_results.c.run_id, func.count()).group_by(eval_results.c.run_id)
        with self._database.read() as connection:
            return {id: count for id, count in connection.execute(chosen)}


def _plain(row: EvalRunRow | StoredSet) -> dict[str, Any]:
    # Not `asdict`, which copies every case's text.
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _filled(record: Any) -> dict[str, Any]:
    return {name: _EMPTY.get(name) if value is None else value for name, value in dict(record).items()}
