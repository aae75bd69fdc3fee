"""The schema: how a database gets to it, and that it is the one the specification asks for."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

import loomlib.store
from loomlib.errors import StoreError, StoreTooNewError
from loomlib.store import Store
from loomlib.store.database import Database
from loomlib.store.schema import REVISIONS, migrate, upgrade
from loomlib.store.tables import metadata

MIGRATIONS = Path(loomlib.store.__file__).parent / "migrations"

# The specification's tables (§3.3), column by column.
SPECIFIED = {
    "agents": [
        "id",
        "arn",
        "runtime_id",
        "name",
        "status",
        "region",
        "account_id",
        "log_group",
        "available_qualifiers",
        "raw_metadata",
        "registered_at",
        "last_refreshed_at",
    ],
    "invocation_sessions": [
        "id",
        "agent_id",
        "session_id",
        "qualifier",
        "prompt",
        "response",
        "client_invoke_time",
        "client_done_time",
        "agent_start_time",
        "cold_start_latency_ms",
        "client_duration_ms",
        "status",
        "error_message",
        "created_at",
    ],
}


def columns(file: Path, table: str) -> list[str]:
    with sqlite3.connect(file) as connection:
        found = [each[1] for each in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    return found


def everything(file: Path) -> set[tuple[str, ...]]:
    """All definitions in the database, white space aside."""
    connection = sqlite3.connect(file)
    found = {
        (kind, name, " ".join((sql or "").split()))
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master")
    }
    connection.close()
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "loom.db"


def test_the_view_has_the_specifications_columns_and_the_agents_table_at_least_those(file: Path) -> None:
    Store.open(f"sqlite:///{file}").close()
    assert columns(file, "invocation_sessions") == SPECIFIED["invocation_sessions"]
    assert set(SPECIFIED["agents"]) <= set(columns(file, "agents"))


def test_the_view_shows_an_invocation_to_any_sql_client(file: Path) -> None:
    with Store.open(f"sqlite:///{file}") as store:
        agent = store.agents.upsert(
            scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1", available_qualifiers=["DEFAULT"]
        )
        store.invocations.begin(agent_id=agent.id, session_id="s", prompt="2+2?", client_invoke_time=1.5)
    connection = sqlite3.connect(file)
    assert connection.execute(
        "SELECT session_id, qualifier, prompt, client_invoke_time, typeof(client_invoke_time), status "
        "FROM invocation_sessions"
    ).fetchall() == [("s", "DEFAULT", "2+2?", 1.5, "real", "pending")]
    assert connection.execute("SELECT available_qualifiers FROM agents").fetchone() == ('["DEFAULT"]',)
    connection.close()


@pytest.mark.parametrize("revision", [None, *REVISIONS])
def test_a_database_of_any_earlier_revision_ends_at_the_same_schema(tmp_path: Path, revision: str | None) -> None:
    Store.open(f"sqlite:///{tmp_path / 'fresh.db'}").close()
    old = Database(f"sqlite:///{tmp_path / 'old.db'}", lock_timeout_s=5)
    if revision is not None:
        with old.write() as connection:
            upgrade(connection, revision)
    migrate(old)
    old.close()
    assert everything(tmp_path / "old.db") == everything(tmp_path / "fresh.db")


def test_the_migrations_end_at_the_tables_that_the_code_uses(file: Path) -> None:
    database = Database(f"sqlite:///{file}", lock_timeout_s=5)
    migrate(database)
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_name": lambda name, kind, _parents: True}
        )
        differences = [
            each
            for each in compare_metadata(context, metadata)
            if not (each[0] == "remove_table" and each[1].name == "invocation_sessions")
        ]
    database.close()
    assert differences == []


def test_the_known_revisions_are_those_in_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "newline")
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(each.revision for each in scripts)[::-1] == REVISIONS


def test_a_database_at_the_newest_revision_is_opened_without_alembic(file: Path) -> None:
    Store.open(f"sqlite:///{file}").close()
    script = (
        "import sys; from loomlib.store import Store; "
        f"Store.open('sqlite:///{file}').close(); assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_database_of_a_later_release_is_left_alone(file: Path) -> None:
    database = Database(f"sqlite:///{file}", lock_timeout_s=5)
    migrate(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    before = file.read_bytes()
    with pytest.raises(StoreTooNewError, match=r"schema 9999.*upgrade loomlib"):
        Store.open(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_database_of_something_else_is_left_alone(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE agents (id INTEGER PRIMARY KEY, secret TEXT)")
    connection.commit()
    connection.close()
    before = everything(file)
    with pytest.raises(StoreError, match="not Loom's"):
        Store.open(f"sqlite:///{file}")
    assert everything(file) == before


def test_a_migration_that_fails_half_way_leaves_nothing_behind(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE measurements (id INTEGER PRIMARY KEY)")  # the last one to be created
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="not Loom's"):
        Store.open(f"sqlite:///{file}")
    assert {name for _, name, _ in everything(file)} == {"measurements"}


def test_the_tables_can_be_written_in_postgresqls_words() -> None:
    dialect = postgresql.dialect()
    for table in metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert "CREATE INDEX" in str(CreateIndex(index).compile(dialect=dialect))
