"""Storage of the runs of one kind of experiment, and the lease that keeps two processes from executing one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Generic, TypeVar

from sqlalchemy import Table, select, update

from ..errors import StoreError
from .database import Database
from .eval_rows import EvalRunRow
from .leases import Leases
from .rows import StudyRow, row

Row = TypeVar("Row", StudyRow, EvalRunRow)


class StoredRuns(Leases, Generic[Row]):
    """The runs of one table.

    Args:
        database: The database.
        table: The table, with a column for each field of the row and those of the lease.
        kind: The row.
        states: The states of a run.
        noun: What a run is called in messages, with its article.
        advice: What to try when there is no such run.
    """

    def __init__(
        self, database: Database, table: Table, kind: type[Row], states: Sequence[str], noun: str, advice: str
    ) -> None:
        super().__init__(database, table, noun.partition(" ")[2])
        self._kind, self._states, self._with_article, self._advice = kind, states, noun, advice
        self._columns = [table.c[field.name] for field in fields(kind)]

    def get(self, id: str) -> Row | None:
        """Return the run, or None."""
        return next(iter(self.newest(1, id=id)), None)

    def newest(self, limit: int | None, **values: Any) -> tuple[Row, ...]:
        """Return runs, newest first.

        Args:
            limit: The largest number of runs; None for all.
            values: Values of the table's columns; None for any.
        """
        columns = self._table.c
        conditions = [columns[name] == value for name, value in values.items() if value is not None]
        chosen = select(*self._columns).where(*conditions).order_by(columns.created_at.desc(), columns.id.desc())
        with self._database.read() as connection:
            records = connection.execute(chosen.limit(limit)).mappings().all()
        return tuple(row(self._kind, record) for record in records)

    def save(self, id: str, **values: Any) -> None:
        """Set any fields of the run.

        Args:
            id: The run.
            values: The fields' values.

        Raises:
            ValueError: The state is unknown.
            StoreError: There is no such run.
        """
        if "state" in values and values["state"] not in self._states:
            raise ValueError(f"{self._with_article} is {', '.join(self._states)}, not {values['state']!r}")
        with self._database.write() as connection:
            changed = connection.execute(update(self._table).where(self._table.c.id == id).values(values)).rowcount
        if changed == 0:
            raise StoreError(f"No such {self._noun}", on=id, try_=self._advice)
