"""SQLite specifics: file and folder, pragmas, and kinds of transactions."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL

WRITING = "loom_writing"
"""Execution option of a connection that is going to write."""

_creating = threading.Lock()  # no thread may take SQLite's locks while another has the new file open


def file_of(url: URL) -> Path | None:
    """Return the database file, or None for a database in memory or a `file:` URI, which SQLite resolves."""
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name).absolute()


def open_engine(url: URL, lock_timeout_s: float) -> Engine:
    """Return an engine with explicit transactions: BEGIN for reading, BEGIN IMMEDIATE for writing.

    By default the driver begins late and upgrades a reading transaction to a writing one, which fails at once when
    another process has written meanwhile, regardless of the time-out.
    """
    file = file_of(url)
    if file is not None:
        _prepare(file)
    engine = create_engine(
        url,
        # A database in memory exists in one connection, which threads share in turn.
        poolclass=QueuePool,
        pool_size=8 if file else 1,
        max_overflow=24 if file else 0,
        connect_args={"timeout": lock_timeout_s, "check_same_thread": False},
    )

    def connect(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        # NORMAL may lose the last transactions in a power cut, never in a crash, and saves an fsync per invocation.
        cursor.execute("PRAGMA synchronous=NORMAL")
        if file is not None:
            _use_wal(cursor, lock_timeout_s)
        cursor.close()

    def begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get(WRITING, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
    return engine


@contextmanager
def without_foreign_keys(connection: Connection) -> Generator[None, None, None]:
    """Switch foreign keys off for the block, in which a migration may replace tables that others refer to.

    SQLite's own procedure (https://sqlite.org/lang_altertable.html, 7). The setting has no effect in a transaction, so
    the connection must not have begun one.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")


def _prepare(file: Path) -> None:
    """Create the folder (0700) and the file (0600): they contain prompts and answers.

    An existing file is not opened: closing a descriptor of a file drops every POSIX lock that this process has on it,
    SQLite's too. Another process that closes the database would then delete the WAL that this process still writes to
    (https://sqlite.org/howtocorrupt.html, 2.2).
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _creating, suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _use_wal(cursor: sqlite3.Cursor, lock_timeout_s: float) -> None:
    """Switch to WAL, so that readers and the writer do not wait for each other. The mode is stored in the file.

    Switching ignores the busy time-out, so two processes that open a new file at once need this loop.
    """
    deadline = time.monotonic() + lock_timeout_s
    while True:
        try:
            if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname not in ("SQLITE_BUSY", "SQLITE_LOCKED") or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
