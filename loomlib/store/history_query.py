"""SQL over the exported history and the store, by DuckDB: it can read these rows and do nothing else."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import StoreError
from ..presentation.formats import time_limit
from .database import Database
from .history_export import ExportSelection, export_rows
from .history_files import HistoryFolder, details, import_duckdb, kind_of, read_list
from .tables import agents, invocations

if TYPE_CHECKING:
    import pandas as pd

_MEMORY: Final = "1GB"


def query_history(
    database: Database, folder: HistoryFolder, sql: str, *, live: bool, limit: int, timeout_s: float
) -> pd.DataFrame:
    """Return the rows of a SELECT over the exported tables.

    Args:
        database: The store's database.
        folder: The exported history; it need not exist.
        sql: One SELECT.
        live: Also read the rows of the store that are not exported.
        limit: The maximum number of rows.
        timeout_s: The time limit in seconds.

    Raises:
        StoreError: It is not one SELECT, or DuckDB refuses it.
    """
    duckdb = import_duckdb()
    _refuse_others(duckdb, sql)
    with _not_exported(database, folder) if live else nullcontext() as rest:
        folders = [folder] if rest is None else [folder, rest]
        with duckdb.connect(config={"memory_limit": _MEMORY, "threads": 2}) as connection:
            files = _create_views(connection, folders)
            _confine(connection, files)
            stop = threading.Timer(timeout_s, connection.interrupt)
            stop.start()
            try:
                connection.execute(_bare(sql))
                return _first_rows(connection, limit)
            except duckdb.InterruptException as error:
                raise StoreError(
                    "The query took too long", on=time_limit(timeout_s), try_="a smaller range, or a larger timeout_s"
                ) from error
            except duckdb.Error as error:
                raise StoreError(
                    f"DuckDB refused the query: {error}",
                    try_='bench.telemetry.history.query("SELECT * FROM invocations LIMIT 5")',
                ) from error
            finally:
                stop.cancel()


def _bare(sql: str) -> str:
    return sql.strip().rstrip(";")


def _refuse_others(duckdb: Any, sql: str) -> None:
    """Reject anything but one SELECT, before anything is read: COPY could write over the exported files."""
    try:
        statements = duckdb.extract_statements(_bare(sql))
    except duckdb.Error as error:
        raise StoreError(f"DuckDB cannot read the query: {error}", try_="one SELECT") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise StoreError("Only one SELECT can be run over the history", try_="SELECT … FROM invocations")


def _first_rows(connection: Any, limit: int) -> pd.DataFrame:
    """Return rows of the executed query; a chunk can have few of them, such as those of one small file."""
    import pandas as pd

    chunks = [connection.fetch_df_chunk()]
    rest = limit - len(chunks[0])
    while rest > 0 and len(chunk := connection.fetch_df_chunk()):
        chunks.append(chunk)
        rest -= len(chunk)
    return pd.concat(chunks, ignore_index=True).head(limit)


def _create_views(connection: Any, folders: list[HistoryFolder]) -> list[Path]:
    read: list[Path] = []
    for table in (agents, invocations, *details()):
        files = [file for folder in folders for file in folder.files(table)]
        if table is agents:
            files = files[-1:]  # the newest: each export writes all agents
        columns = ", ".join(f'CAST(NULL AS {kind_of(column)}) AS "{column.name}"' for column in table.c)
        source = f"SELECT {columns} WHERE false"
        if files:
            read += files
            source += f" UNION ALL BY NAME SELECT * FROM read_parquet({read_list(files)}, hive_partitioning=false)"  # noqa: S608
        connection.execute(f"CREATE VIEW {table.name} AS {source}")
    return read


def _confine(connection: Any, files: list[Path]) -> None:
    """Let the connection read these files and nothing else, for good."""
    connection.execute("SET python_enable_replacements = false")  # variables of this process
    connection.execute(f"SET allowed_paths = {read_list(files)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


@contextmanager
def _not_exported(database: Database, folder: HistoryFolder) -> Generator[HistoryFolder, None, None]:
    with tempfile.TemporaryDirectory(prefix="loom-history-") as name:
        rest = HistoryFolder(name)
        with rest.locked("a query"):
            export_rows(database, rest, ExportSelection(), beside=folder)
        yield rest
