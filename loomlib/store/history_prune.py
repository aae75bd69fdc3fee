"""Removal of exported invocations from the store, after the export was verified; their days' figures stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from sqlalchemy import Table, and_, case, delete, func, select, update

from ..errors import StoreError
from .call_figures import CallFigureQueries
from .database import Database
from .figure_tables import DAY_S, figure_days
from .history_export import ExportSelection, export_conditions
from .history_files import HistoryFolder, details, import_duckdb, key_of, read_list
from .operation_tables import MICRO, invocation_costs, sums_of
from .tables import agents, invocations, metadata, traces

_BATCH: Final = 500
"""Invocations per transaction; every build of SQLite allows 999 variables (SQLITE_MAX_VARIABLE_NUMBER)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedHistory:
    """The result of a prune.

    Attributes:
        before: The first day that was not pruned.
        invocations: How many invocations were removed, with their traces and costs.
        kept: How many stay because other rows, such as a study's, refer to them.
    """

    before: date
    invocations: int
    kept: int


def prune_rows(
    database: Database, folder: HistoryFolder, before: date, *, progress: Callable[[int, int], None] | None = None
) -> PrunedHistory:
    """Remove the ended invocations that were sent before a day and are in the folder; the caller holds its lock.

    The figures of the days are stored first and never built again. Requests that were never sent stay.

    Args:
        database: The store's database.
        folder: The exported history.
        before: The first day, in UTC, whose invocations stay.
        progress: Called with the number of invocations removed so far, and the number to remove.

    Raises:
        StoreError: An invocation, or a row that belongs to one, differs from its export or is not exported. Nothing is
            removed then.
    """
    import numpy as np

    end = datetime(before.year, before.month, before.day, tzinfo=UTC)
    if end > datetime.now(UTC):
        raise ValueError(f"invocations can be pruned before a past day, not {before}")
    conditions = [*export_conditions(ExportSelection()), invocations.c.client_invoke_time < end.timestamp()]
    with database.read() as connection:
        chosen = connection.execute(select(invocations.c.id).where(*conditions))
        every = np.array(chosen.scalars().all(), dtype=np.int64)
        referring = {
            id
            for column in _references()
            for id in connection.execute(select(column).where(column.is_not(None)).distinct()).scalars()
        }
        ids = connection.execute(select(agents.c.id)).scalars().all()
    for table in (invocations, *details()):
        _verify(database, folder, table, conditions)
    _seal(database, list(ids), int(end.timestamp()) // DAY_S)
    removable = np.sort(every[~np.isin(every, np.array(sorted(referring), dtype=np.int64))]).tolist()
    for at in range(0, len(removable), _BATCH):
        batch = removable[at : at + _BATCH]
        with database.write() as connection:
            for table in (*details(), invocations):
                connection.execute(delete(table).where(key_of(table).in_(batch)))
        if progress is not None:
            progress(at + len(batch), len(removable))
    return PrunedHistory(before=before, invocations=len(removable), kept=len(every) - len(removable))


def _references() -> list[Any]:
    """Return the columns that refer to invocations, of tables whose rows are not exported with them."""
    exported = details()
    return [
        column
        for table in metadata.tables.values()
        if table not in exported
        for column in table.c
        if any(key.column is invocations.c.id for key in column.foreign_keys)
    ]


def _verify(database: Database, folder: HistoryFolder, table: Table, conditions: list[Any]) -> None:
    """Check that each row is exported once, and that what may have changed since has not."""
    import numpy as np

    key = key_of(table)
    sums, keys = select(*_sums(table)), select(key)
    if table is not invocations:
        sums, keys = (chosen.join(invocations, invocations.c.id == key) for chosen in (sums, keys))
    with database.read() as connection:
        stored = tuple(int(value or 0) for value in connection.execute(sums.where(and_(*conditions))).one())
        stored_keys = np.array(connection.execute(keys.where(and_(*conditions))).scalars().all(), dtype=np.int64)
    exported_keys = folder.keys(table)
    missing = int((~np.isin(stored_keys, exported_keys)).sum())
    if missing:
        raise StoreError(
            f"Nothing was pruned: {missing} of {len(stored_keys)} rows of {table.name} are not exported",
            on=str(folder.path),
            try_=f"loom store export {folder.path}",
        )
    if not len(stored_keys):
        return
    with import_duckdb().connect() as connection:
        connection.register("wanted", {"id": stored_keys})
        counted = ", ".join(f"CAST({sql} AS HUGEINT)" for sql in _FILE_SUMS.get(table.name, ("count(*)",)))
        exported = connection.execute(
            f"SELECT {counted} FROM read_parquet({read_list(folder.files(table))}, hive_partitioning=false) "  # noqa: S608
            f"WHERE {key.name} IN (SELECT id FROM wanted)"
        ).fetchone()
    if tuple(int(value or 0) for value in exported) != stored:
        raise StoreError(
            f"Nothing was pruned: rows of {table.name} changed after their export, or were exported twice",
            on=str(folder.path),
            try_="export to a new folder, and prune with that: loom store export FOLDER",
        )


_FILE_SUMS: Final = {
    invocations.name: ("count(*)", "count(start_state)", "count(cold_start_latency_ms)", "sum(length(response))"),
    invocation_costs.name: (
        "count(*)",
        f"sum(known_picos // {MICRO})",
        f"sum(known_picos % {MICRO})",
        "sum(unknown_items)",
    ),
    traces.name: ("count(*)", "sum(span_count)", "count(CASE WHEN is_complete THEN 1 END)"),
}


def _sums(table: Table) -> list[Any]:
    """Return the same sums of the store's rows."""
    count = func.count(key_of(table))
    if table is invocations:
        cold, text = invocations.c.cold_start_latency_ms, func.length(invocations.c.response)
        return [count, func.count(invocations.c.start_state), func.count(cold), func.sum(text)]
    if table is invocation_costs:
        return [count, *sums_of(table.c.known_picos), func.sum(table.c.unknown_items)]
    if table is traces:
        return [count, func.sum(table.c.span_count), func.count(case((table.c.is_complete, 1)))]
    return [count]


def _seal(database: Database, agent_ids: list[int], until: int) -> None:
    """Store the figures of all days before `until`, and keep them as they are from now on."""
    figures = CallFigureQueries(database)
    days = and_(figure_days.c.day < until, ~figure_days.c.is_pruned)
    for _ in range(5):  # a day may change between its figures and this mark
        figures.build(agent_ids, until)
        with database.write() as connection:
            connection.execute(update(figure_days).where(days, figure_days.c.is_current).values(is_pruned=True))
        with database.read() as connection:
            if not connection.execute(select(func.count(figure_days.c.day)).where(days)).scalar_one():
                return
    raise StoreError("Nothing was pruned: the invocations of past days are still changing", try_="prune again later")
