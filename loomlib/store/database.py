"""A database: its engine, and transactions that raise only Loom's errors."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, Pool, create_engine, event, func, make_url, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from ..errors import StoreError
from ..recovery import is_marked, recover_if_damaged
from . import postgresql, sqlite
from .failures import is_worth_repeating, translated
from .row_security import ALL_TENANTS, choose_tenant, role_tenant
from .tenancy import DEFAULT_TENANT, StoreIdentity, limit_to

Result = TypeVar("Result")

_ADDRESSES: Final = "sqlite:///path/to/loom.db or postgresql://user:password@host/database"
_ATTEMPTS: Final = 6
_FIRST_PAUSE_S: Final = 0.01

_open_databases: dict[Path, int] = {}
"""How many databases of this process are open on a file: one that is in use is not replaced."""


class Database:
    """An open database. `place` is its address without the password.

    Attributes:
        place: Its address without the password.
        is_recovered: Whether this opening found the file damaged and replaced it by a new file with the readable rows.
        is_tenants_address: Whether the role of the address belongs to a tenant, once the database is limited.
    """

    def __init__(self, url: str, *, lock_timeout_s: float) -> None:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            # Neither this message nor its cause shows the address, which may contain a password.
            raise StoreError("DATABASE_URL is not a database address", try_=_ADDRESSES) from None
        if postgresql.is_address(parsed):
            parsed = postgresql.with_driver(parsed)
        self.place = parsed.render_as_string(hide_password=True)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.file: Path | None = sqlite.file_of(parsed) if self.is_sqlite else None
        self.is_recovered = False
        self._password = parsed.password
        self._write_lock = self._new_write_lock()
        try:
            with self._translated():
                if self.file is not None:
                    self.is_recovered = _recover(self.file)
                self.engine: Engine = _open_engine(parsed, lock_timeout_s)
        except StoreError as error:
            if isinstance(error.__cause__, NoSuchModuleError):
                raise StoreError("Unknown kind of database", on=self.place, try_=_ADDRESSES) from error
            raise
        self._writing = self.engine.execution_options(**{sqlite.WRITING: True})
        self._reading = self.engine if self.is_sqlite else postgresql.snapshot(self.engine)
        if self.file is not None:
            _open_databases[self.file] = _open_databases.get(self.file, 0) + 1
        self._is_open = True
        self.is_tenants_address = False
        self._pid = os.getpid()
        self._inherited: list[Pool] = []

    @property
    def where(self) -> str:
        """The file, or the address without its password."""
        return str(self.file) if self.file else self.place

    @contextmanager
    def read(self) -> Generator[Connection, None, None]:
        """Open a reading transaction."""
        self._own()
        with self._translated(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """Open a writing transaction, all or nothing. Do not nest it."""
        self._own()
        with self._translated(), self._write_lock, self._writing.begin() as connection:
            yield connection

    def write_again(self, work: Callable[[Connection], Result]) -> Result:
        """Return the result of `work` in a writing transaction, which is repeated after a deadlock.

        For transactions that lock several rows: PostgreSQL ends one of two that wait for each other. SQLite, with one
        writer at a time, has no deadlocks.

        Args:
            work: The whole transaction; it may be called several times.
        """
        for attempt in range(_ATTEMPTS):
            try:
                with self.write() as connection:
                    return work(connection)
            except StoreError as error:
                if not is_worth_repeating(error) or attempt == _ATTEMPTS - 1:
                    raise
            time.sleep(random.uniform(0.5, 1.5) * _FIRST_PAUSE_S * 2**attempt)  # noqa: S311, no secret
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def migrating(self) -> Generator[Connection, None, None]:
        """Open a writing transaction in which tables can be replaced. Do not nest it."""
        self._own()
        with self._translated(), self._write_lock, self._writing.connect() as connection:
            unchecked = sqlite.without_foreign_keys(connection) if self.is_sqlite else nullcontext()
            with unchecked, connection.begin():
                yield connection

    def limit_to(self, identity: StoreIdentity) -> StoreIdentity:
        """Restrict all reads and writes to one tenant's rows from now on; before this call, nothing is restricted.

        On PostgreSQL, the tenant of the address's role counts.

        Args:
            identity: The tenant, and the user whose rows are written.

        Returns:
            The identity that counts.

        Raises:
            StoreError: The role belongs to another tenant than the one that is named.
        """
        tenant = self._role_tenant()
        if tenant is None:
            self._choose_tenant(identity.tenant)
        elif identity.tenant not in (tenant, DEFAULT_TENANT):
            raise StoreError(
                f"The database address is the tenant {tenant}'s, not {identity.tenant}'s",
                on=self.where,
                try_="leave the tenant (LOOM_TENANT) out, or the address that loom tenants add printed",
            )
        self.is_tenants_address = tenant is not None
        identity = StoreIdentity(tenant=tenant or identity.tenant, user=identity.user)
        limit_to(self.engine, identity)
        return identity

    def open_to_all(self) -> None:
        """Read and write the rows of every tenant from now on, as the owner of the tables.

        Raises:
            StoreError: The database's address is a tenant's.
        """
        if (tenant := self._role_tenant()) is not None:
            raise StoreError(
                f"The database address is the tenant {tenant}'s",
                on=self.where,
                try_="the address of the role that owns Loom's tables",
            )
        self._choose_tenant(ALL_TENANTS)

    def _role_tenant(self) -> str | None:
        if self.is_sqlite:
            return None
        with self.read() as connection:
            return role_tenant(connection)

    def _choose_tenant(self, tenant: str) -> None:
        if not self.is_sqlite:

            def begin(connection: Connection) -> None:
                choose_tenant(connection, tenant)

            event.listen(self.engine, "begin", begin)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        if self._is_open and self.file is not None:
            _open_databases[self.file] -= 1
        self._is_open = False

    def _translated(self) -> AbstractContextManager[None]:
        return translated(self.where, self.file, secret=self._password)

    def _new_write_lock(self) -> AbstractContextManager[object]:
        # SQLite has one writer at a time. Threads queue on a lock, which wakes them at once, instead of polling in
        # SQLite.
        return threading.Lock() if self.is_sqlite else nullcontext()

    def _own(self) -> None:
        """Open new connections after a fork: two processes on one SQLite connection corrupt the file."""
        if self._pid != os.getpid():
            self._pid, self._write_lock = os.getpid(), self._new_write_lock()
            self._inherited.append(self.engine.pool)  # referenced, because only the parent may close them
            self.engine.dispose(close=False)


def clock(connection: Connection) -> datetime:
    """Return the time of the database's machine, the only one that all of its clients share."""
    if connection.dialect.name == "sqlite":  # which runs in this process
        return datetime.now(UTC)
    now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return now.astimezone(UTC)


def _open_engine(url: URL, lock_timeout_s: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        return sqlite.open_engine(url, lock_timeout_s)
    if postgresql.is_address(url):
        return postgresql.open_engine(url, lock_timeout_s)
    return create_engine(url, pool_pre_ping=True)


def _recover(file: Path) -> bool:
    """Set aside a file that was found to be damaged, unless this process has it open.

    Returns:
        Whether any of its content was recovered.
    """
    if not is_marked(file) or _open_databases.get(file):
        return False
    damaged = recover_if_damaged(file, thorough=False, needs=("alembic_version",))
    return damaged is not None and bool(damaged.recovered)
