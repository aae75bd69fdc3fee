"""Evaluations: the sets that were asked, and the runs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import func, select, update

from ..errors import StoreError
from .database import Database
from .eval_rows import EVAL_RUN_STATES, EvalRunRow, StoredSet
from .eval_tables import eval_results, eval_runs, eval_sets
from .leases import LEASE_S, Lease, Leases

_RUN = [eval_runs.c[each.name] for each in fields(EvalRunRow)]
_EMPTY: dict[str, Any] = {"labels": (), "design": {}, "summary": {}, "details": {}}


class EvalRuns:
    """The runs of all evaluations, and the lease that keeps two processes from doing one run at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leases = Leases(database, eval_runs, "evaluation")

    def create(self, run: EvalRunRow, cases: StoredSet) -> None:
        """Stores a new run, and its set unless it is known; `StoreError` when the run's id is taken."""
        with self._database.write() as connection:
            known = connection.execute(select(eval_sets.c.digest).where(eval_sets.c.digest == cases.digest)).first()
            if known is None:
                connection.execute(eval_sets.insert().values(_plain(cases)))
            connection.execute(eval_runs.insert().values(_plain(run)))

    def get(self, id: str) -> EvalRunRow | None:
        """The run, or None."""
        with self._database.read() as connection:
            found = connection.execute(select(*_RUN).where(eval_runs.c.id == id)).mappings().first()
        return None if found is None else EvalRunRow(**_filled(found))

    def list(
        self, *, agent_arn: str | None = None, set_digest: str | None = None, limit: int | None = 100
    ) -> tuple[EvalRunRow, ...]:
        """Runs, newest first; of one agent and of one set where given."""
        chosen = select(*_RUN).order_by(eval_runs.c.created_at.desc(), eval_runs.c.id.desc()).limit(limit)
        if agent_arn is not None:
            chosen = chosen.where(eval_runs.c.agent_arn == agent_arn)
        if set_digest is not None:
            chosen = chosen.where(eval_runs.c.set_digest == set_digest)
        with self._database.read() as connection:
            found = connection.execute(chosen).mappings().all()
        return tuple(EvalRunRow(**_filled(each)) for each in found)

    def save(self, id: str, **values: Any) -> None:
        """Sets any fields of `EvalRunRow`."""
        if values.get("state", EVAL_RUN_STATES[0]) not in EVAL_RUN_STATES:
            raise ValueError(f"an evaluation is {', '.join(EVAL_RUN_STATES)}, not {values['state']!r}")
        with self._database.write() as connection:
            changed = connection.execute(update(eval_runs).where(eval_runs.c.id == id).values(values)).rowcount
        if changed == 0:
            raise StoreError("No such evaluation", on=id)

    def get_set(self, digest: str) -> StoredSet | None:
        """The set of that hash, or None."""
        with self._database.read() as connection:
            found = connection.execute(select(eval_sets).where(eval_sets.c.digest == digest)).mappings().first()
        return None if found is None else StoredSet(**_filled(found))

    def counts(self) -> dict[str, int]:
        """How many results each run has."""
        chosen = select(eval_results.c.run_id, func.count()).group_by(eval_results.c.run_id)
        with self._database.read() as connection:
            return {id: count for id, count in connection.execute(chosen)}

    def acquire(self, id: str, *, lease_s: float = LEASE_S) -> Lease:
        """The lease on the run. `StoreError` names the process that holds it."""
        return self._leases.acquire(id, lease_s=lease_s)

    def renew(self, lease: Lease, *, lease_s: float = LEASE_S) -> Lease:
        """The lease, prolonged. `StoreError` when somebody else has taken it: stop asking."""
        return self._leases.renew(lease, lease_s=lease_s)

    def release(self, lease: Lease) -> None:
        """Gives the lease back; nothing happens when it was lost already."""
        self._leases.release(lease)


def _plain(row: EvalRunRow | StoredSet) -> dict[str, Any]:
    # Not `asdict`, which copies every case's text.
    return {each.name: getattr(row, each.name) for each in fields(row)}


def _filled(found: Any) -> dict[str, Any]:
    return {name: _EMPTY.get(name) if value is None else value for name, value in dict(found).items()}
