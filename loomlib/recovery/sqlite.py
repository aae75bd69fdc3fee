"""Damaged SQLite files: their readable rows are copied into a new file, and the damaged one is set aside.

A table is read from both ends up to its first unreadable page. Rows that then point to lost ones are left out.
`.recover` of the sqlite3 program may find more; the file that was set aside is unchanged for it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import StoreError
from .files import DamagedFile, name_aside, report

_CHECKED_BYTES: Final = 64_000_000
"""Files up to this size are read completely when they are checked, which takes about 100 ms; of larger ones the schema
is read, and damage elsewhere is found when it is used."""

_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNREADABLE: Final = (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError)
"""What reading a damaged file raises; SQLite's message may itself hold bytes of the file that are not text."""

_COMPANIONS: Final = ("-wal", "-shm", "-journal")
_BATCH: Final = 500
_LOCKED_WITHIN_S: Final = 5.0
_FIRST_LOCK_BYTE: Final = 0x40000000
_LOCK_BYTES: Final = 512
"""SQLite's lock bytes (PENDING, RESERVED and the SHARED range): sqlite.org/src/file/src/os.h."""


def is_damage(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, says that an SQLite file is damaged or is not an SQLite file."""
    seen_ids: set[int] = set()
    while error is not None and id(error) not in seen_ids:
        seen_ids.add(id(error))
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE or isinstance(error, UnicodeDecodeError):
            return True  # the message about a damaged schema holds bytes of it, which the driver cannot decode
        error = getattr(error, "orig", None) or error.__cause__
    return False


def mark_damaged(file: Path) -> None:
    """Note that damage was found while the file was used, so that `recover_if_damaged` need not find it again."""
    with suppress(OSError):
        _marker(file).touch(mode=0o600)


def is_marked(file: Path) -> bool:
    """Whether damage was found while the file was used, and nobody has recovered it since."""
    return _marker(file).exists()


def recover_if_damaged(file: Path, *, thorough: bool = True, needs: Sequence[str] = ()) -> DamagedFile | None:
    """Check an SQLite file, and if it is damaged, set it aside and put its readable rows into a new one.

    No connection of this process may be open on the file.

    Args:
        file: The file; one that does not exist is not damaged.
        thorough: Whether all pages of a file up to 64 MB are checked, rather than the schema alone.
        needs: Tables without whose rows the others are of no use; if one is lost, nothing is recovered.

    Returns:
        What was done, or None if the file is not damaged.

    Raises:
        StoreError: Another process has the damaged file open.
        OSError: The disk is full or the folder cannot be written to; the damaged file is as it was.
    """
    if not is_marked(file) and find_damage(file, thorough=thorough) is None:
        return None
    with _one_process(file.parent):
        marked = is_marked(file)
        reason = find_damage(file, thorough=True) or ("damage was found while it was used" if marked else None)
        if reason is None or not file.is_file():
            _marker(file).unlink(missing_ok=True)
            return None  # another process recovered it meanwhile
        now = datetime.now(UTC)
        aside, partial = name_aside(file, now), file.with_name(f"{file.name}.recovering")
        with _alone(file):
            try:
                for ending in ("", *_COMPANIONS):
                    if (part := file.with_name(file.name + ending)).exists():
                        shutil.copy2(part, aside.with_name(aside.name + ending))
                recovered = _salvage(aside, partial, needs)
            except BaseException as error:
                _remove(aside)
                _remove(partial)
                if isinstance(error, sqlite3.Error):
                    raise OSError(errno.EIO, f"it could not be recovered: {error}", str(file)) from error
                raise
            # The companions first: a new database must never find the old one's write-ahead log.
            for ending in _COMPANIONS:
                file.with_name(file.name + ending).unlink(missing_ok=True)
            if recovered:
                partial.replace(file)
            else:
                file.unlink()
                _remove(partial)
        _marker(file).unlink(missing_ok=True)
        return report(DamagedFile(file=file, aside=aside, at=now, reason=reason, recovered=recovered))


def find_damage(file: Path, *, thorough: bool = True) -> str | None:
    """Return what is wrong with a file; None if it is sound, absent, empty, or cannot be opened."""
    try:
        size = file.stat().st_size
        if size == 0 or not file.is_file():
            return None
        with closing(sqlite3.connect(file, timeout=_LOCKED_WITHIN_S)) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if thorough and size <= _CHECKED_BYTES:
                (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
                return None if verdict == "ok" else str(verdict).replace("*** in database main ***", "").strip()
    except UnicodeDecodeError:
        return "its schema is not readable"
    except sqlite3.Error as error:
        # A schema that cannot be read at all, such as one in an unknown file format, is SQLITE_ERROR.
        return str(error) if is_damage(error) or error.sqlite_errorcode == sqlite3.SQLITE_ERROR else None
    except OSError:
        return None
    return None


def _salvage(file: Path, partial: Path, needs: Sequence[str]) -> str:
    """Copy the readable rows of `file` into a new file; return what was copied, or "" for nothing.

    Nobody else may have `file` open.
    """
    _remove(partial)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    rows = tables = 0
    address = f"{file.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(address, uri=True)) as old,
        closing(sqlite3.connect(partial, isolation_level=None)) as new,
    ):
        old.text_factory = _decode
        new.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN")
        with suppress(*_UNREADABLE):
            old.execute("PRAGMA writable_schema=ON")  # reads a schema with an entry that makes no sense
        schema = _readable(old, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        names: list[str] = []
        for _, name, statement in sorted(schema, key=lambda item: item[0] != "table"):
            if name.startswith("sqlite_"):
                continue
            try:
                if statement.upper().startswith("CREATE TABLE"):
                    new.execute(statement)
                    names.append(name)
            except (*_UNREADABLE, AttributeError):
                continue  # a damaged definition
        for name in [*names, *(["sqlite_sequence"] if names and _has_sequence(new) else [])]:
            count = _copy(old, new, name)
            if count == 0 and name in needs:
                return ""
            if count and name != "sqlite_sequence":
                rows, tables = rows + count, tables + 1
        if any(name not in names for name in needs):
            return ""
        _drop_orphans(new, names)
        for kind, _, statement in schema:
            if kind != "table":
                with suppress(*_UNREADABLE):
                    new.execute(statement)
        for pragma in ("user_version", "application_id"):
            with suppress(*_UNREADABLE):
                new.execute(f"PRAGMA {pragma}={int(old.execute(f'PRAGMA {pragma}').fetchone()[0])}")
        new.execute("COMMIT")
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    _sync(partial)
    return f"{rows} rows of {tables} table{'s' * (tables != 1)}" if rows else ""


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _copy(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> int:
    quoted = _quoted(table)
    columns = [row[1] for row in new.execute(f"PRAGMA table_xinfo({quoted})") if row[6] == 0]
    if table == "sqlite_sequence":
        new.execute("DELETE FROM sqlite_sequence")
        columns = ["name", "seq"]
    if not columns:
        return 0
    listed = ", ".join(map(_quoted, columns))
    insert = f"INSERT OR IGNORE INTO {quoted} ({listed}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
    before = new.total_changes
    for order in ("", " ORDER BY rowid DESC"):
        query = f"SELECT {listed} FROM {quoted} NOT INDEXED{order}"  # noqa: S608
        complete = True
        batch: list[tuple[object, ...]] = []
        try:
            for row in old.execute(query):
                batch.append(row)
                if len(batch) == _BATCH:
                    new.executemany(insert, batch)
                    batch.clear()
        except _UNREADABLE:
            complete = False
        new.executemany(insert, batch)
        if complete:
            break
    return new.total_changes - before


def _readable(database: sqlite3.Connection, query: str) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    with suppress(*_UNREADABLE):
        rows.extend(row for row in database.execute(query) if all(isinstance(value, str) for value in row))
    return rows


def _has_sequence(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchone() is not None


def _drop_orphans(database: sqlite3.Connection, tables: Sequence[str]) -> None:
    """Remove rows that point to rows which were lost, and those that point to these."""
    references = [
        (table, row[2], row[3], row[4] or "rowid")
        for table in tables
        for row in database.execute(f"PRAGMA foreign_key_list({_quoted(table)})")
        if row[1] == 0  # the first column of a key; Loom's keys have one
    ]
    removed = -1
    while references and removed != database.total_changes:
        removed = database.total_changes
        for table, parent, column, key in references:
            with suppress(*_UNREADABLE):
                database.execute(
                    f"DELETE FROM {_quoted(table)} WHERE {_quoted(column)} IS NOT NULL AND {_quoted(column)} "  # noqa: S608
                    f"NOT IN (SELECT {_quoted(key)} FROM {_quoted(parent)})"
                )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _alone(file: Path) -> Generator[None]:
    """Hold SQLite's exclusive lock on a file, whatever is in it.

    Every process that has a database in WAL mode open holds a shared lock. Had one of them the file open while it is
    replaced, it would delete the new file's write-ahead log when it closes (sqlite.org/howtocorrupt.html, 4.1).
    """
    descriptor = os.open(file, os.O_RDWR)
    try:
        deadline = time.monotonic() + _LOCKED_WITHIN_S
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_BYTES, _FIRST_LOCK_BYTE)
                break
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
                if time.monotonic() > deadline:
                    raise StoreError(
                        "The database is damaged, and another process has it open",
                        on=str(file),
                        try_="end that process (a kernel, a report, or the service: loom down) and open it again; "
                        "the readable rows are then recovered",
                    ) from error
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _one_process(folder: Path) -> Generator[None]:
    # A lock on the folder, because the file is replaced.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _marker(file: Path) -> Path:
    return file.with_name(f"{file.name}.damaged")


def _remove(file: Path) -> None:
    for ending in ("", *_COMPANIONS):
        file.with_name(file.name + ending).unlink(missing_ok=True)
