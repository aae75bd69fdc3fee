"""PostgreSQL specifics: its address and driver, the settings of a connection, and kinds of transactions.

Transactions that write are READ COMMITTED, and every decision in them is one UPDATE with a condition, or is taken on a
locked row. Transactions that read are REPEATABLE READ: all their queries see one moment, as on SQLite
(https://www.postgresql.org/docs/current/transaction-iso.html).
"""

from __future__ import annotations

import select
import time
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import InvalidatePoolError

from ..errors import StoreError
from .columns import storable

DRIVER: Final = "postgresql+psycopg"
_NAMES: Final = ("postgresql", "postgres", DRIVER)

MIGRATION_LOCK: Final = 0x4C6F6F6D  # "Loom"
ANSWERS_LOCK: Final = 0x4C6F6F6E
COPY_LOCK: Final = 0x4C6F6F6F
"""Keys of the advisory locks, which apply within one database."""

TRY_AGAIN: Final = frozenset({"40001", "40P01"})
"""Errors after which the same transaction may succeed: a serialization failure and a deadlock
(https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html)."""

BINARY_RESULTS: Final = "loom_binary_results"
"""Execution option: fetch results in PostgreSQL's binary format. The text format writes two hexadecimal digits for each
byte of an array, and its numbers must be parsed."""

_CONNECT_WITHIN_S: Final = 10
# A connection whose other end is gone is closed after a minute, not after the two hours of Linux.
_KEEPALIVE: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_PLANNER: Final = "-c random_page_cost=1.1"
"""The default of 4 is meant for hard disks. With it, PostgreSQL scanned a table of a million costs to find those of
11,000 calls: 114 ms, and 13 ms with 1.1 (https://www.postgresql.org/docs/current/runtime-config-query.html).
The options of an address override it."""
_ASKED_AFTER_S: Final = 1.0
"""Idle seconds after which a connection is tested before it is used: a firewall may have dropped it."""
_USED: Final = "loom_used"
_KEPT: Final = 3
_AT_MOST: Final = 24
"""Connections of one store: how many stay open, and the maximum. Each is a process of the server, which has 100 by
default; thirty kernels of a hub share it."""


def is_address(url: URL) -> bool:
    """Return whether an address is one of PostgreSQL, with any driver."""
    return url.get_backend_name() in ("postgresql", "postgres")


def with_driver(url: URL) -> URL:
    """Return the address with psycopg as its driver, which is the default.

    Raises:
        StoreError: The address names another driver.
    """
    if url.drivername not in _NAMES:
        raise StoreError(
            f"Loom reaches PostgreSQL through psycopg, not through {url.drivername.partition('+')[2]}",
            on=url.render_as_string(hide_password=True),
            try_="an address that begins with postgresql://",
        )
    return url.set(drivername=DRIVER)


def open_engine(url: URL, lock_timeout_s: float) -> Engine:
    """Return an engine whose connections wait for another's lock no longer than `lock_timeout_s`.

    Raises:
        StoreError: psycopg is not installed.
    """
    try:
        import psycopg
        from psycopg.types.string import StrDumperUnknown
    except ImportError as error:
        raise StoreError(
            "PostgreSQL's driver is not installed",
            on=url.render_as_string(hide_password=True),
            try_="pip install 'loomlib[postgresql]'",
        ) from error
    url_options = url.query.get("options", ())
    options = [
        _PLANNER,
        *([url_options] if isinstance(url_options, str) else url_options),
        f"-c lock_timeout={max(1, int(lock_timeout_s * 1e3))}",
    ]
    engine = create_engine(
        url.difference_update_query(["options"]),
        pool_size=_KEPT,
        max_overflow=_AT_MOST - _KEPT,
        pool_timeout=max(lock_timeout_s, _CONNECT_WITHIN_S),
        isolation_level="READ COMMITTED",
        connect_args={
            "connect_timeout": _CONNECT_WITHIN_S,
            "application_name": "loom",
            "options": " ".join(options),
            **_KEEPALIVE,
            **{name: url.query[name] for name in ("connect_timeout", "application_name") if name in url.query},
        },
    )

    class StorableText(StrDumperUnknown):
        """Any text as PostgreSQL can store it: it refuses NUL, and UTF-8 has no lone surrogates."""

        def dump(self, obj: str) -> Any:
            return super().dump(storable(obj))

    def connect(connection: psycopg.Connection[Any], _record: Any) -> None:
        connection.adapters.register_dumper(str, StorableText)

    event.listen(engine, "connect", connect)
    event.listen(engine, "do_execute", _execute)
    _replace_ended_connections(engine)
    return engine


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool | None:
    """Fetch the results in binary format if the statement's options say so; otherwise let SQLAlchemy execute it."""
    if not context.execution_options.get(BINARY_RESULTS):
        return None
    cursor.execute(statement, parameters, binary=True)
    return True


def _replace_ended_connections(engine: Engine) -> None:
    """Replace connections of the pool that the server ended, after its restart for example.

    SQLAlchemy's `pool_pre_ping` queries the server before each transaction, which is one of the five round trips of a
    small one. Here a connection that was just used is tested only if something has arrived on it: the server's last
    message, or the end of the stream.
    """
    from psycopg import Connection as Psycopg
    from psycopg import Error

    def note_use(_connection: object, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    def ask(connection: Psycopg[Any], record: Any, _proxy: object) -> None:
        if (used := record.info.get(_USED)) is None:
            return  # it has just been opened
        try:
            if time.monotonic() - used > _ASKED_AFTER_S or _has_input(connection.fileno()):
                engine.dialect.do_ping(connection)  # pyright: ignore[reportArgumentType]
        except Error as error:
            raise InvalidatePoolError from error

    event.listen(engine, "checkin", note_use)
    event.listen(engine, "checkout", ask)


def _has_input(descriptor: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([descriptor], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))


def snapshot(engine: Engine) -> Engine:
    """Return the engine for reading: one moment for all queries of a transaction, in which nothing can be written."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def lock(connection: Connection, key: int) -> None:
    """Wait for an advisory lock, which the transaction holds until its end; no effect on SQLite, with its one writer.

    Args:
        connection: A connection in a writing transaction.
        key: The lock's key.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
