"""The folder of an exported history: Parquet files by table and month, and the rows in them.

A file appears under its name when it is complete, and is never changed afterwards: the files themselves say what was
exported, also after a kill.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Boolean, Column, Double, Integer, Table

from ..errors import MissingExtraError, StoreError
from .columns import UtcDateTime
from .tables import invocations, metadata

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FORMAT: Final = 1
_ABOUT: Final = "loom-history.json"
_LOCK: Final = ".lock"
PARTS: Final = ".parts"
"""The folder of files that are being written."""


def import_duckdb() -> ModuleType:
    """Return the module duckdb.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(
            "An exported history is written and read by DuckDB, which is not installed",
            try_="pip install 'loomlib[history]'",
        ) from error
    return duckdb


def details() -> tuple[Table, ...]:
    """Return the tables with at most one row per invocation, such as its trace; they are exported with it."""
    return tuple(
        table
        for table in sorted(metadata.tables.values(), key=lambda table: table.name)
        if len(table.primary_key.columns) == 1
        and any(key.column is invocations.c.id for column in table.primary_key.columns for key in column.foreign_keys)
    )


def key_of(table: Table) -> Column[Any]:
    """Return the column that identifies a row: an invocation's id, or an agent's."""
    return next(iter(table.primary_key.columns))


def kind_of(column: Column[Any]) -> str:
    """Return a column's type in the files; JSON and lists are JSON texts, times are in UTC."""
    match column.type:
        case Boolean():
            return "BOOLEAN"
        case Integer():
            return "BIGINT"
        case Double():
            return "DOUBLE"
        case UtcDateTime():
            return "TIMESTAMP"
        case _:
            return "VARCHAR"


class HistoryFolder:
    """A folder with exported rows of one store.

    Args:
        path: The folder; it is created when something is exported.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()

    def files(self, table: Table) -> list[Path]:
        """Return the complete files of a table."""
        return sorted(self.path.glob(f"{table.name}/**/*.parquet"))

    def keys(self, table: Table) -> NDArray[np.int64]:
        """Return the keys of the exported rows of a table, sorted."""
        import numpy as np

        files = self.files(table)
        if not files:
            return np.array([], dtype=np.int64)
        with import_duckdb().connect() as connection:
            name = key_of(table).name
            result = connection.execute(f"SELECT {name} FROM read_parquet(?)", [list(map(str, files))])  # noqa: S608
            return np.sort(np.asarray(result.fetchnumpy()[name], dtype=np.int64))

    @contextmanager
    def locked(self, source: str) -> Generator[None, None, None]:
        """Lock the folder for one export or prune, and remove incomplete files of an interrupted one.

        Args:
            source: The store's address without its password, and its tenant. A folder has the rows of one store.

        Raises:
            StoreError: The folder is in use, has another store's rows, or is another version's.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self.path / _LOCK).open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise StoreError(
                        "Another process exports to this folder", on=str(self.path), try_="wait until it has finished"
                    ) from error
                self._check(source)
                parts = self.path / PARTS
                parts.mkdir(mode=0o700, exist_ok=True)
                for part in parts.iterdir():
                    part.unlink()
                yield
        except OSError as error:
            raise StoreError(
                f"The folder of the history cannot be used: {error.strerror or error}",
                on=str(self.path),
                try_="a folder that you may write to",
            ) from error

    def _check(self, source: str) -> None:
        about = self.path / _ABOUT
        if about.exists():
            manifest = json.loads(about.read_text("utf-8"))
            if manifest.get("format") != _FORMAT:
                raise StoreError("The folder was written by another release of Loom", on=str(self.path), try_="upgrade")
            if manifest["store"] != source:
                raise StoreError(
                    f"The folder has the history of another store, {manifest['store']}",
                    on=str(self.path),
                    try_=f"another folder; or, if the store has only moved, edit {_ABOUT} in the folder",
                )
            return
        part = self.path / f".{_ABOUT}.part"
        part.write_text(json.dumps({"format": _FORMAT, "store": source}) + "\n", "utf-8")
        part.replace(about)


def read_list(files: Sequence[Path]) -> str:
    """Return DuckDB's literal for a list of files."""
    return "[" + ", ".join("'" + str(file).replace("'", "''") + "'" for file in files) + "]"
