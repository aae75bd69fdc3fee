"""Moving a store between SQLite and PostgreSQL: every row of every table, or none."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import BigInteger, Boolean, Double, Integer, LargeBinary
from sqlalchemy import text as sql
from store_rows import query

from loomlib.cli.main import cli
from loomlib.errors import LoomError, StoreError
from loomlib.store import Store, Tenants
from loomlib.store.columns import AgentText, CompressedTexts, JsonText, UtcDateTime
from loomlib.store.copying import copy_store
from loomlib.store.database import Database
from loomlib.store.schema import migrate
from loomlib.store.tables import metadata

ODD = "␀ ÿ 🧵 'quoted' \\ %s :name \n\ttail"


def value(kind: Any, row: int, *, is_key: bool) -> Any:
    """A value of a column, different in each row; keys that refer to each other are equal."""
    match kind:
        case UtcDateTime():
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=row, microseconds=row)
        case JsonText():
            return {"row": row, "text": "\x00\ud800", "number": 0.1 * row}
        case CompressedTexts():
            return [f"span {row}", "\x00"]
        case Boolean():
            return row % 2 == 0
        case BigInteger():
            return 2**62 + row
        case Integer():
            return row
        case Double():
            return row / 3 if row < 3 else float("inf")
        case LargeBinary():
            return row.to_bytes(4)
        case AgentText():
            return f"{ODD} {row}"
        case _:
            return f"key-{row}" if is_key else f"text {row}"


def fill(url: str, rows: int = 3) -> None:
    """Put rows into every table, those that later releases add too."""
    database = Database(url, lock_timeout_s=30)
    migrate(database)
    with database.write() as connection:
        for table in metadata.sorted_tables:
            connection.execute(
                table.insert(),
                [
                    {
                        column.key: value(column.type, row, is_key=column.primary_key or bool(column.foreign_keys))
                        for column in table.c
                    }
                    for row in range(1, rows + 1)
                ],
            )
        connection.execute(sql("DELETE FROM figure_days WHERE timed IS NULL"))  # which the invocations added
    database.close()


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row as the code reads it."""
    database = Database(url, lock_timeout_s=30)
    with database.read() as connection:
        rows = {
            table.name: sorted(map(tuple, connection.execute(table.select())), key=repr)
            for table in metadata.sorted_tables
        }
    database.close()
    return rows


def test_every_row_of_every_table_arrives_on_postgresql_and_back(
    sqlite_url: str, postgresql_url: str, tmp_path: Path
) -> None:
    fill(sqlite_url)
    query(sqlite_url, "UPDATE tenants SET role = NULL")
    steps: list[tuple[str, int, int]] = []
    copy = copy_store(sqlite_url, postgresql_url, progress=lambda *step: steps.append(step))
    assert contents(postgresql_url) == contents(sqlite_url)
    assert copy.rows == 3 * len(metadata.sorted_tables)
    assert {table for table, copied, total in steps if copied == total == 3} == set(metadata.tables)
    copy_back = copy_store(postgresql_url, f"sqlite:///{tmp_path / 'back.db'}")
    assert contents(f"sqlite:///{tmp_path / 'back.db'}") == contents(sqlite_url)
    assert copy_back.tables == copy.tables, "the same checksums"
    assert ":***@" in copy.target
    with Tenants.open(sqlite_url) as tenants:
        assert copy.tenants == tuple(row.name for row in tenants.list())  # which have no address there yet
    assert copy_back.tenants == ()


def test_new_rows_get_ids_behind_the_copied_ones(sqlite_url: str, postgresql_url: str) -> None:
    with Store.open(sqlite_url) as store:
        agent = store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")
        last = [store.invocations.begin(agent_id=agent.id, session_id="s") for _ in range(5)][-1]
    copy_store(sqlite_url, postgresql_url)
    with Store.open(postgresql_url) as store:
        assert store.invocations.begin(agent_id=agent.id, session_id="s") == last + 1
        assert len(store.invocations.list()) == 6


def test_a_target_with_rows_and_a_source_that_does_not_exist_are_refused(store_url: str, tmp_path: Path) -> None:
    with Store.open(store_url) as store:
        agent = store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")
    source = f"sqlite:///{tmp_path / 'source.db'}"
    fill(source)
    with pytest.raises(StoreError, match="already has rows, in agents"):
        copy_store(source, store_url)
    with Store.open(store_url) as store:
        assert store.agents.list() == (agent,)
    with pytest.raises(StoreError, match="onto itself"):
        copy_store(source, source)
    with pytest.raises(StoreError, match="no store to copy"):
        copy_store(f"sqlite:///{tmp_path / 'missing.db'}", store_url)
    assert not (tmp_path / "missing.db").exists()


def test_a_copy_that_is_killed_leaves_an_empty_target_which_takes_another(
    sqlite_url: str, new_store_url: str, tmp_path: Path
) -> None:
    source = f"sqlite:///{tmp_path / 'source.db'}"
    fill(source, rows=60)
    script = """
import itertools, sys
from loomlib.store.copying import copy_store
numbers = itertools.count(1)
def progress(*step):
    print(*step, flush=True)
    if next(numbers) == int(sys.argv[3]):
        sys.stdin.read()  # until the kill, however late that is
copy_store(sys.argv[1], sys.argv[2], progress=progress)
"""
    steps = random.Random(3).randint(5, 40)
    process = subprocess.Popen(
        [sys.executable, "-c", script, source, new_store_url, str(steps)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        for _ in range(steps):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with Store.open(new_store_url) as store:
        assert store.agents.list() == ()
    copied = copy_store(source, new_store_url)
    assert copied.rows == 60 * len(metadata.sorted_tables)


def loom(*arguments: str, **environment: str) -> Any:
    variables = {"LOOM_HOME": os.devnull, **environment}
    return CliRunner().invoke(cli, list(arguments), env=variables)


def test_the_command_takes_the_address_from_a_variable_and_shows_no_password(
    sqlite_url: str, postgresql_url: str, postgresql_server: Any, tmp_path: Path
) -> None:
    fill(sqlite_url)
    file = sqlite_url.removeprefix("sqlite:///")
    result = loom("--home", str(tmp_path), "store", "copy", file, "DATABASE_URL", DATABASE_URL=postgresql_url)
    assert result.exit_code == 0, result.output
    assert "copied and verified" in result.output
    again = loom("--home", str(tmp_path), "store", "copy", file, "DATABASE_URL", DATABASE_URL=postgresql_url)
    assert isinstance(again.exception, StoreError)
    for text in (result.output, again.output, str(again.exception)):
        assert postgresql_server.password not in text
        assert "hunter2" not in text
    refused = loom("--home", str(tmp_path), "store", "copy", file, postgresql_url)
    assert isinstance(refused.exception, LoomError)
    assert "must not hold a password" in str(refused.exception)
    assert "hunter2" not in str(refused.exception)


def test_doctor_names_the_store_in_use_without_its_password(postgresql_url: str, tmp_path: Path) -> None:
    for url, expected in (
        (postgresql_url, "ok      store: postgresql+psycopg://loom:***@"),
        (postgresql_url + "x", "FAILED  store"),
    ):
        result = loom("--home", str(tmp_path), "doctor", DATABASE_URL=url)
        assert expected in result.output
        assert "hunter2" not in result.output
