"""Migration to this release's schema: a cheap check first, Alembic only when needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import OperationalError

from ..errors import StoreTooNewError
from .database import Database
from .figure_days import mark_all
from .postgresql import MIGRATION_LOCK, lock
from .row_security import secure
from .tables import metadata

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011")
"""Every revision in `migrations/versions`, oldest first. Listed by hand (a test compares), because asking Alembic
costs a quarter of a second at every start."""


def migrate(database: Database) -> None:
    """Migrate `database` to the newest revision; no effect when it is current.

    The migration is one transaction that holds the write lock: of two processes that open a new database, one
    migrates and the other finds it current, and a killed migration changes nothing.

    Raises:
        StoreTooNewError: A later release wrote the database.
    """
    with database.read() as connection:
        if _is_current(_revision(connection), database) and not database.is_recovered:
            return
    with database.migrating() as connection:
        lock(connection, MIGRATION_LOCK)
        if not _is_current(_revision(connection), database):
            upgrade(connection, REVISIONS[-1])
        secure(connection)
        if database.is_recovered:
            metadata.create_all(connection)  # tables whose definition was lost
            mark_all(connection)


def upgrade(connection: Connection, revision: str) -> None:
    """Run the migrations up to `revision` in the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config(stdout=sys.stderr)
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _revision(connection: Connection) -> str | None:
    # A failed statement ends PostgreSQL's transaction but not SQLite's, where looking for the table takes longer than
    # the query.
    if connection.dialect.name != "sqlite" and not inspect(connection).has_table("alembic_version"):
        return None
    try:
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    except OperationalError as error:
        if "no such table: alembic_version" in str(error.orig):
            return None
        raise


def _is_current(revision: str | None, database: Database) -> bool:
    if revision is not None and revision not in REVISIONS:
        raise StoreTooNewError(
            f"The database was written by a later release of Loom (schema {revision}; "
            f"this release knows up to {REVISIONS[-1]})",
            on=database.where,
            try_="upgrade loomlib, or use another LOOM_HOME or DATABASE_URL",
        )
    return revision == REVISIONS[-1]
