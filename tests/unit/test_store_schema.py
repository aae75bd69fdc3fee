"""The schema: how a database gets to it, and that it is the one the specification asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from postgresql_server import PostgresqlServer
from sqlalchemy import create_engine, inspect, text
from store_rows import query
from waiting import PATIENCE_S

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


_DEFINED = {
    "sqlite": ("SELECT type, name, sql FROM sqlite_master",),
    "postgresql": (
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
        " WHERE table_schema = 'public'",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'",
        "SELECT tablename, policyname, qual, with_check FROM pg_policies",
    ),
}


def columns(url: str, table: str) -> list[str]:
    engine = create_engine(url)
    names = [column["name"] for column in inspect(engine).get_columns(table)]
    engine.dispose()
    return names


def everything(url: str) -> set[tuple[str, ...]]:
    """All definitions in the database, white space and the order of the columns aside."""
    return {
        tuple(" ".join(str(value or "").split()) for value in row)
        for statement in _DEFINED[url.partition(":")[0].partition("+")[0]]
        for row in query(url, statement)
    }


@pytest.fixture
def url(new_store_url: str) -> str:
    """A new database, in whose folder files of the test can be made."""
    if new_store_url.startswith("sqlite"):
        Path(new_store_url.removeprefix("sqlite:///")).parent.mkdir(exist_ok=True)
    return new_store_url


def test_the_view_has_the_specifications_columns_and_the_agents_table_at_least_those(url: str) -> None:
    Store.open(url).close()
    assert columns(url, "invocation_sessions") == SPECIFIED["invocation_sessions"]
    assert set(SPECIFIED["agents"]) <= set(columns(url, "agents"))


def test_the_view_shows_an_invocation_to_any_sql_client(url: str) -> None:
    with Store.open(url) as store:
        agent = store.agents.upsert(
            scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1", available_qualifiers=["DEFAULT"]
        )
        store.invocations.begin(agent_id=agent.id, session_id="s", prompt="2+2?", client_invoke_time=1.5)
    assert query(url, "SELECT session_id, qualifier, prompt, client_invoke_time, status FROM invocation_sessions") == [
        ("s", "DEFAULT", "2+2?", 1.5, "pending")
    ]
    assert query(url, "SELECT available_qualifiers FROM agents") == [('["DEFAULT"]',)]


def migrate_from(url: str, revision: str | None) -> set[tuple[str, ...]]:
    old = Database(url, lock_timeout_s=5)
    if revision is not None:
        with old.write() as connection:
            upgrade(connection, revision)
    migrate(old)
    old.close()
    return everything(url)


@pytest.mark.parametrize("revision", [None, *REVISIONS])
def test_a_database_of_any_earlier_revision_ends_at_the_same_schema(tmp_path: Path, revision: str | None) -> None:
    Store.open(f"sqlite:///{tmp_path / 'fresh.db'}").close()
    assert migrate_from(f"sqlite:///{tmp_path / 'old.db'}", revision) == everything(
        f"sqlite:///{tmp_path / 'fresh.db'}"
    )


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-2]])
def test_a_postgresql_database_of_an_earlier_revision_ends_at_the_same_schema(
    postgresql_url: str, postgresql_server: PostgresqlServer, revision: str
) -> None:
    with postgresql_server.store() as fresh:
        assert migrate_from(postgresql_url, revision) == everything(fresh)


def test_the_migrations_end_at_the_tables_that_the_code_uses(url: str) -> None:
    database = Database(url, lock_timeout_s=5)
    migrate(database)
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_name": lambda name, kind, _parents: True}
        )
        differences = [
            difference
            for difference in compare_metadata(context, metadata)
            if not (difference[0] == "remove_table" and difference[1].name == "invocation_sessions")
        ]
    database.close()
    assert differences == []


def test_the_known_revisions_are_those_in_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "newline")
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == REVISIONS


def test_a_database_at_the_newest_revision_is_opened_without_alembic(url: str) -> None:
    Store.open(url).close()
    script = (
        "import sys; from loomlib.store import Store; "
        "Store.open(sys.argv[1]).close(); assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, url], check=True, timeout=PATIENCE_S)


def test_a_database_of_a_later_release_is_left_alone(url: str) -> None:
    database = Database(url, lock_timeout_s=5)
    migrate(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    before = everything(url)
    with pytest.raises(StoreTooNewError, match=r"schema 9999.*upgrade loomlib"):
        Store.open(url)
    assert everything(url) == before


def test_a_database_of_something_else_is_left_alone(url: str) -> None:
    query(url, "CREATE TABLE agents (id INTEGER PRIMARY KEY, secret TEXT)")
    before = everything(url)
    with pytest.raises(StoreError, match="not Loom's"):
        Store.open(url)
    assert everything(url) == before


def test_a_migration_that_fails_half_way_leaves_nothing_behind(url: str) -> None:
    query(url, "CREATE TABLE measurements (id INTEGER PRIMARY KEY)")  # the last one to be created
    before = everything(url)
    with pytest.raises(StoreError, match="not Loom's"):
        Store.open(url)
    assert everything(url) == before
