"""Export of ended invocations, with their traces and costs, to Parquet files that DuckDB, pandas and others read.

Rows that the folder already has are not written again. At most the rows of one file are in memory at a time.
"""

from __future__ import annotations

import os
import secrets
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Column, ColumnElement, LargeBinary, Table, Text, and_, select, type_coerce

from .columns import CompressedTexts, JsonText, UtcDateTime
from .database import Database
from .history_files import PARTS, HistoryFolder, details, import_duckdb, key_of, kind_of
from .tables import agents, invocations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS_PER_FILE: Final = 20_000
"""With traces of 6 spans, these are 60 MB in memory and 10 MB in the file."""

_BATCH: Final = 1_000
_ENDED: Final = ("complete", "error")

ExportProgress = Callable[[str, int, int], None]
"""Called with a table's name, the number of its new rows written so far, and the number of all its new rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSelection:
    """Which invocations are exported: of these agents (None: all), sent from `since` until before `until`."""

    since: datetime | None = None
    until: datetime | None = None
    agent_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedHistory:
    """The result of an export: `rows` by table, without those that the folder already had."""

    folder: Path
    rows: dict[str, int]
    files: int
    bytes_written: int
    elapsed_s: float


def export_rows(
    database: Database,
    folder: HistoryFolder,
    selection: ExportSelection,
    *,
    beside: HistoryFolder | None = None,
    progress: ExportProgress | None = None,
) -> ExportedHistory:
    """Write the rows that the folder does not have; the caller holds the folder's lock.

    Args:
        database: The store's database.
        folder: Where the files are written.
        selection: Which invocations.
        beside: Another folder, whose rows are not written either.
        progress: Called after each file.
    """
    import numpy as np

    began, counts, files, bytes_written = time.monotonic(), dict[str, int](), 0, 0
    for table in (*details(), invocations):
        known_keys = folder.keys(table) if beside is None else np.union1d(folder.keys(table), beside.keys(table))
        new = _new_rows(database, table, selection, known_keys)
        total, exported_count = sum(map(len, new.values())), 0
        for month, keys in sorted(new.items()):
            for at in range(0, len(keys), ROWS_PER_FILE):
                part = keys[at : at + ROWS_PER_FILE]
                place = folder.path / table.name / f"month={month}" / f"{_stamp()}.parquet"
                bytes_written += _write(database, table, part, place, folder)
                files += 1
                exported_count += len(part)
                if progress is not None:
                    progress(table.name, exported_count, total)
        counts[table.name] = total
    with database.read() as connection:
        every = np.array(connection.execute(select(agents.c.id)).scalars().all(), dtype=np.int64)
    bytes_written += _write(database, agents, every, folder.path / agents.name / "agents.parquet", folder)
    return ExportedHistory(
        folder=folder.path, rows=counts, files=files, bytes_written=bytes_written, elapsed_s=time.monotonic() - began
    )


def export_conditions(selection: ExportSelection) -> list[ColumnElement[bool]]:
    """Return the conditions of the invocations that are exported, without those of their time."""
    conditions: list[ColumnElement[bool]] = [invocations.c.status.in_(_ENDED)]
    if selection.agent_ids is not None:
        conditions.append(invocations.c.agent_id.in_(selection.agent_ids))
    return conditions


def _new_rows(
    database: Database, table: Table, selection: ExportSelection, known_keys: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Return the keys of the rows that are not known, sorted, by the month in which the invocation was sent."""
    import numpy as np

    key, sent_at, created = key_of(table), invocations.c.client_invoke_time, invocations.c.created_at
    source = select(key) if table is invocations else select(key).join(invocations, invocations.c.id == key)
    ended = export_conditions(selection)
    timed = [sent_at >= selection.since.timestamp()] if selection.since is not None else [sent_at.is_not(None)]
    timed += [sent_at < selection.until.timestamp()] if selection.until is not None else []
    stored = [created >= selection.since] if selection.since is not None else []
    stored += [created < selection.until] if selection.until is not None else []
    keys: list[int] = []
    times: list[float] = []
    with database.read() as connection:
        chosen = source.add_columns(sent_at).where(and_(*ended, *timed)).execution_options(yield_per=10_000)
        for rows in connection.execute(chosen).partitions():
            keys.extend(row[0] for row in rows)
            times.extend(row[1] for row in rows)
        for row in connection.execute(source.add_columns(created).where(and_(*ended, *stored), sent_at.is_(None))):
            keys.append(row[0])
            times.append(row[1].timestamp())
    every, sent_s = np.array(keys, dtype=np.int64), np.array(times, dtype=np.float64)
    fresh = ~np.isin(every, known_keys)
    every, months = every[fresh], sent_s[fresh].astype("datetime64[s]").astype("datetime64[M]")
    return {str(month): np.sort(every[months == month]) for month in np.unique(months)}


def _write(database: Database, table: Table, keys: NDArray[np.int64], place: Path, folder: HistoryFolder) -> int:
    """Write rows to a file, which appears under its name when it is complete; return its size in bytes."""
    import pandas as pd

    key_set, columns = set(keys.tolist()), [(column, _raw(column)) for column in table.c]
    values: list[list[Any]] = [[] for _ in columns]
    for row in _rows(database, table, [raw for _, raw in columns], keys):
        if row[0] in key_set:
            for column, value in zip(values, row[1:], strict=True):
                column.append(value)
    frame = pd.DataFrame(
        {column.name: _converted(column, cells) for (column, _), cells in zip(columns, values, strict=True)}
    )
    part = folder.path / PARTS / f"{_stamp()}.parquet"
    # DuckDB guesses types from values: a column without any would have none.
    select_list = ", ".join(f'CAST("{column.name}" AS {kind_of(column)}) AS "{column.name}"' for column in table.c)
    with import_duckdb().connect(config={"memory_limit": "512MB", "threads": 1}) as connection:
        connection.register("rows", frame)
        target = str(part).replace("'", "''")
        connection.execute(f"COPY (SELECT {select_list} FROM rows) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")  # noqa: S608
    part.chmod(0o600)
    for parent in (folder.path / table.name, place.parent):  # `parents=True` would not make the upper one private
        parent.mkdir(mode=0o700, exist_ok=True)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    size = part.stat().st_size
    part.replace(place)
    return size


def _rows(
    database: Database, table: Table, columns: Sequence[ColumnElement[Any]], keys: NDArray[Any]
) -> Iterator[Sequence[Any]]:
    if not len(keys):
        return
    key = key_of(table)
    chosen = select(key, *columns).where(key >= int(keys[0]), key <= int(keys[-1]))
    with database.read() as connection:
        for rows in connection.execute(chosen.execution_options(yield_per=_BATCH)).partitions():
            yield from rows


def _raw(column: Column[Any]) -> ColumnElement[Any]:
    """Return a column as it is stored: JSON as text, compressed texts as bytes."""
    if isinstance(column.type, JsonText):
        return type_coerce(column, Text()).label(f"raw_{column.name}")
    if isinstance(column.type, CompressedTexts):
        return type_coerce(column, LargeBinary()).label(f"raw_{column.name}")
    return column.label(f"raw_{column.name}")


def _converted(column: Column[Any], values: Sequence[Any]) -> Any:
    import numpy as np

    if isinstance(column.type, CompressedTexts):
        return np.array([None if value is None else zlib.decompress(value).decode("ascii") for value in values], object)
    if isinstance(column.type, UtcDateTime):
        naive = [None if value is None else value.astimezone(UTC).replace(tzinfo=None) for value in values]
        return np.array(naive, dtype="datetime64[us]")
    return np.array(values, dtype=object)


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(6)}"
