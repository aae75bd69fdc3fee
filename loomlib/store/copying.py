"""Copying of a whole store into an empty one, between SQLite and PostgreSQL in either direction.

The copy is one transaction of the target: it exists completely or not at all, even if the process is killed. The
target's rows are then read again and compared with the source's by number and checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, Connection, Double, MetaData, Table, func, select, text
from sqlalchemy.types import TypeDecorator, TypeEngine

from ..errors import StoreError
from .columns import UtcDateTime, storable
from .database import Database
from .figure_tables import figure_days
from .postgresql import COPY_LOCK, lock
from .schema import migrate
from .tables import metadata
from .tenant_tables import tenants

_BATCH: Final = 1000
_MODULUS: Final = 2**256
_LOCK_TIMEOUT_S: Final = 30.0

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a table's name, the number of its rows copied so far, and the number of all its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedTable:
    """A table that was copied.

    Attributes:
        name: Its name.
        rows: The number of its rows, the same in the source and in the target.
        checksum: The sum of the rows' SHA-256 digests modulo 2²⁵⁶, in hexadecimal: the same in any order of the rows.
    """

    name: str
    rows: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedStore:
    """A store that was copied.

    Attributes:
        source: The address of the source, without its password.
        target: The address of the target, without its password.
        tables: The tables.
        tenants: The tenants that have no address in the target yet: a database role belongs to a server
            (`Tenants.renew`).
    """

    source: str
    target: str
    tables: tuple[CopiedTable, ...]
    tenants: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)


def copy_store(source: str, target: str, *, progress: Progress | None = None) -> CopiedStore:
    """Copy every row of a store, of all tenants, into an empty one and verify it.

    The source is read as it is at one moment; what is written to it afterwards is not copied. Its schema is migrated to
    this release's, as whenever a store is opened. Tenants lose their database roles, which belong to a server.

    Args:
        source: The address of the database that is read.
        target: The address of a database without rows; its tables are created as needed.
        progress: Called after each batch.

    Raises:
        StoreError: The source does not exist, the target has rows, or the rows of the target differ from the source's.
            The target is then unchanged.
    """
    old = _open(source, must_exist=True)
    try:
        new = _open(target, must_exist=False)
        try:
            if old.where == new.where:
                raise StoreError("The store cannot be copied onto itself", on=old.where, try_="another target")
            with old.read() as reading, new.write() as writing:
                lock(writing, COPY_LOCK)
                _refuse_rows(writing, new)
                copied = tuple(_copy(table, reading, writing, progress or _silent) for table in _raw_tables())
                tenant_names = writing.execute(select(tenants.c.tenant).order_by(tenants.c.tenant)).scalars().all()
            without = () if new.is_sqlite else tuple(tenant_names)
            return CopiedStore(source=old.where, target=new.where, tables=copied, tenants=without)
        finally:
            new.close()
    finally:
        old.close()


def _open(url: str, *, must_exist: bool) -> Database:
    database = Database(url, lock_timeout_s=_LOCK_TIMEOUT_S)
    try:
        if must_exist and not _exists(database):
            raise StoreError("There is no store to copy", on=database.where, try_="the address of a stored database")
        migrate(database)
        database.open_to_all()
    except BaseException:
        database.close()
        raise
    return database


def _exists(database: Database) -> bool:
    """Whether the database has Loom's tables; `Database` has created the file of a new one."""
    if database.file is not None and Path(database.file).stat().st_size == 0:
        database.file.unlink()
        return False
    with database.read() as connection:
        return connection.dialect.has_table(connection, "alembic_version")


def _refuse_rows(writing: Connection, target: Database) -> None:
    filled = [table.name for table in metadata.sorted_tables if writing.execute(select(table).limit(1)).first()]
    if filled:
        raise StoreError(
            f"The target already has rows, in {', '.join(filled)}", on=target.where, try_="a new, empty database"
        )


def _raw_tables() -> Iterator[Table]:
    """Yield each table, those that others refer to first, with columns of the types that the database has.

    JSON and compressed texts are copied as stored, because decoding and encoding them again could change them.
    """
    raw = MetaData()
    # Last: the invocations that are copied mark the target's days.
    for table in sorted(metadata.sorted_tables, key=lambda table: table is figure_days):
        columns = (Column(column.name, _stored(column.type), primary_key=column.primary_key) for column in table.c)
        yield Table(table.name, raw, *columns)


def _stored(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    if isinstance(kind, TypeDecorator) and not isinstance(kind, UtcDateTime):
        return kind.impl_instance
    return kind


def _copy(table: Table, reading: Connection, writing: Connection, progress: Progress) -> CopiedTable:
    total = reading.execute(select(func.count()).select_from(table)).scalar_one()
    source_count, source_sum = 0, 0
    progress(table.name, source_count, total)
    if table.name == figure_days.name:
        writing.execute(table.delete())  # what the triggers added for the copied invocations
    for rows in _batches(table, reading):
        converted = [_converted(table, row, writing) for row in rows]
        writing.execute(table.insert(), converted)
        source_sum += sum(_digest(table, row) for row in converted)
        source_count += len(rows)
        progress(table.name, source_count, total)
    target_count, target_sum = 0, 0
    for rows in _batches(table, writing):
        target_sum += sum(_digest(table, row) for row in rows)
        target_count += len(rows)
    if (target_count, target_sum % _MODULUS) != (source_count, source_sum % _MODULUS):
        raise StoreError(
            f"The target's table {table.name} differs from the source's: {target_count} of {source_count} rows, "
            "another checksum",
            on=str(writing.engine.url.render_as_string(hide_password=True)),
            try_="report it; nothing was copied",
        )
    _continue_ids(table, writing)
    return CopiedTable(name=table.name, rows=source_count, checksum=f"{target_sum % _MODULUS:064x}")


def _batches(table: Table, connection: Connection) -> Iterator[list[Mapping[str, Any]]]:
    chosen = connection.execute(select(table).execution_options(yield_per=_BATCH)).mappings()
    for rows in chosen.partitions():
        yield [dict(row) for row in rows]


def _converted(table: Table, row: Mapping[str, Any], writing: Connection) -> Mapping[str, Any]:
    """Return a row as the target can hold it: PostgreSQL has no NUL in texts, SQLite no NaN."""
    if writing.dialect.name == "postgresql":
        row = {name: storable(value) if isinstance(value, str) else value for name, value in row.items()}
    else:
        row = {
            name: None if isinstance(table.c[name].type, Double) and value != value else value
            for name, value in row.items()
        }
    return {**row, tenants.c.role.name: None} if table.name == tenants.name else row


def _digest(table: Table, row: Mapping[str, Any]) -> int:
    content = "\x1f".join(_canonical(row[column.name]) for column in table.c)
    return int.from_bytes(hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest())


def _canonical(value: Any) -> str:
    """Return a text that is the same for equal values only, whichever database they came from."""
    match value:
        case None:
            return "-"
        case bytes():
            return f"b{value.hex()}"
        case str():
            return f"t{len(value)}:{value}"
        case datetime():
            return f"d{value.isoformat()}"
        case bool() | int() | float():
            return f"n{float(value).hex()}" if isinstance(value, float) else f"n{int(value)}"
        case _:
            raise TypeError(f"a stored value of type {type(value).__name__} cannot be compared")


def _continue_ids(table: Table, writing: Connection) -> None:
    """Set PostgreSQL's sequence to continue after the copied ids; SQLite does so by itself."""
    if writing.dialect.name != "postgresql" or "id" not in table.c:
        return
    sequence = writing.execute(select(func.pg_get_serial_sequence(table.name, "id"))).scalar_one()
    if sequence is not None:
        chosen = text(f"SELECT setval(:sequence, max(id)) FROM {table.name} HAVING max(id) IS NOT NULL")  # noqa: S608
        writing.execute(chosen, {"sequence": sequence})


def _silent(_table: str, _done: int, _total: int) -> None:
    return None
