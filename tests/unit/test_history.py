"""Long history: incremental export, verified prune, and SQL that can read nothing else."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from waiting import PATIENCE_S

from loomlib.errors import StoreError
from loomlib.metrics import Window, read_figures
from loomlib.store import Store
from loomlib.store.history_export import ExportSelection

DAY_S = 86_400
NOW = time.time()
SECRET = "hunter2-" + "x" * 24


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path / 'loom.db'}") as store:
        yield store


def agent(store: Store, name: str = "a") -> int:
    return store.agents.upsert(
        scope="local", arn=f"arn:{name}", runtime_id=f"{name}-1", region="us-east-1", account_id="1", name=name
    ).id


def call(store: Store, agent_id: int, at: float, *, status: str = "complete") -> int:
    """An invocation with a trace, a cost and events."""
    id = store.invocations.begin(agent_id=agent_id, session_id=f"s{at}", prompt="2+2?", client_invoke_time=at)
    if status == "pending":
        return id
    store.invocations.finish(
        id, status=status, response="vier ␀ 🧵", client_done_time=at + 1, client_duration_ms=random.uniform(1, 99)
    )
    store.invocations.keep_events(id, ["{}"])
    store.traces.put(
        id, session_id="s", trace_id="t", state="found", is_complete=True, span_count=1, records=['{"name":"chat"}']
    )
    store.figures.put_cost(id, known=Decimal("0.001"), unknown=0, is_estimate=False, is_simulated=False, currency="USD")
    return id


def filled(store: Store, days: int = 70) -> int:
    agent_id = agent(store)
    for number in range(days):
        call(store, agent_id, NOW - number * DAY_S)
    return agent_id


def rows(folder: Path, table: str) -> list[tuple[object, ...]]:
    return duckdb.sql(f"SELECT * FROM read_parquet('{folder}/{table}/**/*.parquet')").fetchall()


def test_an_export_has_every_ended_invocation_once_with_its_trace_and_cost(store: Store, tmp_path: Path) -> None:
    agent_id, folder = filled(store), tmp_path / "history"
    call(store, agent_id, NOW, status="pending")
    export = store.history.export(folder)
    assert export.rows["invocations"] == export.rows["traces"] == export.rows["invocation_costs"] == 70
    months = {path.parent.name for path in folder.glob("invocations/*/*.parquet")}
    assert months == {f"month={datetime.fromtimestamp(NOW - n * DAY_S, UTC):%Y-%m}" for n in range(70)}
    frame = store.history.query(folder, "SELECT prompt, response, status FROM invocations", live=False)
    assert set(frame.itertuples(index=False, name=None)) == {("2+2?", "vier ␀ 🧵", "complete")}
    names = store.history.query(folder, "SELECT DISTINCT json_extract_string(records, '$[0]') AS span FROM traces")
    assert names["span"].tolist() == ['{"name":"chat"}']
    assert (folder / "invocations").stat().st_mode & 0o077 == 0


def test_a_second_export_writes_only_what_is_new(store: Store, tmp_path: Path) -> None:
    agent_id, folder = filled(store, 3), tmp_path / "history"
    store.history.export(folder)
    assert set(store.history.export(folder).rows.values()) == {0}
    call(store, agent_id, NOW - 40 * DAY_S)
    assert store.history.export(folder).rows["invocations"] == 1
    assert len(rows(folder, "invocations")) == len(rows(folder, "traces")) == 4


def test_what_an_interrupted_export_left_is_removed_and_written_again(store: Store, tmp_path: Path) -> None:
    filled(store, 3)
    folder = tmp_path / "history"
    store.history.export(folder)
    for file in folder.glob("traces/**/*.parquet"):  # killed between two files
        file.unlink()
    (folder / ".parts" / "half.parquet").write_bytes(b"PAR1")
    store.history.export(folder)
    assert len(rows(folder, "invocations")) == len(rows(folder, "traces")) == 3
    assert not list((folder / ".parts").iterdir())


def test_an_export_can_be_limited_to_agents_and_times(store: Store, tmp_path: Path) -> None:
    filled(store, 5)
    other = agent(store, "b")
    call(store, other, NOW - 2 * DAY_S)
    since = datetime.fromtimestamp(NOW - 2.5 * DAY_S, UTC)
    assert store.history.export(tmp_path / "one", ExportSelection(agent_ids=(other,))).rows["invocations"] == 1
    assert store.history.export(tmp_path / "two", ExportSelection(since=since)).rows["invocations"] == 4


def test_a_folder_has_the_history_of_one_store(store: Store, tmp_path: Path) -> None:
    filled(store, 1)
    store.history.export(tmp_path / "history")
    with (
        Store.open(f"sqlite:///{tmp_path / 'other.db'}") as other,
        pytest.raises(StoreError, match="another store"),
    ):
        other.history.export(tmp_path / "history")


def test_a_prune_removes_what_is_exported_and_the_figures_stay(store: Store, tmp_path: Path) -> None:
    agent_id, folder = filled(store), tmp_path / "history"
    study_call = store.invocations.list(agent_id, limit=None)[0].id
    connection = sqlite3.connect(tmp_path / "loom.db")
    connection.execute(
        "INSERT INTO studies (id, scope, agent_arn, design, state, created_at, tenant) "
        "VALUES ('s', 'local', 'arn:a', '{}', 'complete', '2026-01-01', 'default')"
    )
    connection.execute(
        "INSERT INTO measurements (study_id, position, block, scenario, session_plan, state, invocation_id, tenant) "
        "VALUES ('s', 0, 0, 'warm', '', 'done', ?, 'default')",
        (study_call,),
    )
    connection.commit()
    connection.close()
    before = read_figures(store, [agent_id], Window())
    day = datetime.fromtimestamp(NOW - 30 * DAY_S, UTC).date()
    store.history.export(folder)
    pruned = store.history.prune(folder, day)
    remaining = store.invocations.list(agent_id, limit=None)
    assert len(remaining) == 70 - pruned.invocations
    assert pruned.kept == 1
    assert study_call in {row.id for row in remaining}
    assert read_figures(store, [agent_id], Window()) == before
    count = "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM invocations"
    assert store.history.query(folder, count).iloc[0].tolist() == [70, 70]
    assert store.history.prune(folder, day).invocations == 0


def test_a_store_on_postgresql_is_exported_and_pruned_alike(postgresql_url: str, tmp_path: Path) -> None:
    with Store.open(postgresql_url) as store:
        agent_id, folder = filled(store, 8), tmp_path / "history"
        before = read_figures(store, [agent_id], Window())
        assert store.history.export(folder).rows["traces"] == 8
        pruned = store.history.prune(folder, datetime.fromtimestamp(NOW - 3 * DAY_S, UTC).date())
        assert 8 - pruned.invocations == len(store.invocations.list(agent_id, limit=None)) < 8
        assert read_figures(store, [agent_id], Window()) == before
        assert store.history.query(folder, "SELECT count(*) AS n FROM invocations")["n"].tolist() == [8]


def test_the_missing_package_is_named_with_its_extra(store: Store, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['duckdb'] = None\n"
        "from loomlib.store import Store\n"
        "with Store.open(sys.argv[1]) as store: store.history.export(sys.argv[2])\n"
    )
    url, folder = f"sqlite:///{tmp_path / 'loom.db'}", str(tmp_path / "history")
    process = subprocess.run(
        [sys.executable, "-c", script, url, folder], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert "MissingExtraError" in process.stderr
    assert "pip install 'loomlib[history]'" in process.stderr


def test_calls_whose_costs_have_a_sum_beyond_64_bits_are_pruned(store: Store, tmp_path: Path) -> None:
    agent_id, folder = agent(store), tmp_path / "history"
    for _ in range(2):
        store.figures.put_cost(
            call(store, agent_id, NOW - 40 * DAY_S),
            known=Decimal("6e6"),
            unknown=0,
            is_estimate=False,
            is_simulated=False,
            currency="USD",
        )
    store.history.export(folder)
    assert store.history.prune(folder, datetime.fromtimestamp(NOW - 30 * DAY_S, UTC).date()).invocations == 2


def test_nothing_is_pruned_that_is_not_exported_as_it_is(store: Store, tmp_path: Path) -> None:
    agent_id, folder = filled(store, 10), tmp_path / "history"
    day = datetime.fromtimestamp(NOW, UTC).date()
    with pytest.raises(StoreError, match="9 of 9 rows of invocations are not exported"):
        store.history.prune(folder, day)
    store.history.export(folder)
    ids = [row.id for row in store.invocations.list(agent_id, limit=None)]
    store.invocations.note_start(ids[0], state="found", cold_start_latency_ms=5.0)
    with pytest.raises(StoreError, match="changed after their export"):
        store.history.prune(folder, day)
    assert len(store.invocations.list(agent_id, limit=None)) == 10


def test_rows_that_are_not_exported_are_read_from_the_store(store: Store, tmp_path: Path) -> None:
    agent_id, folder = filled(store, 3), tmp_path / "history"
    count = "SELECT count(*) AS n FROM invocations"
    assert store.history.query(folder, count)["n"].tolist() == [3]
    store.history.export(folder)
    call(store, agent_id, NOW)
    assert store.history.query(folder, count)["n"].tolist() == [4]
    assert store.history.query(folder, count, live=False)["n"].tolist() == [3]


def test_a_query_returns_the_rows_of_all_months_up_to_its_limit(store: Store, tmp_path: Path) -> None:
    agent_id, folder = agent(store), tmp_path / "history"
    for month in range(8):
        call(store, agent_id, NOW - month * 31 * DAY_S)
    store.history.export(folder)
    for sql in ("SELECT id FROM invocations", "SELECT id FROM invocations; -- all", "FROM invocations ORDER BY id"):
        assert sorted(store.history.query(folder, sql)["id"]) == list(range(1, 9))
        assert len(store.history.query(folder, sql, limit=7)) == 7


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('{folder}/../*.parquet')",
        "SELECT * FROM read_text('{folder}/loom-history.json')",
        "SELECT * FROM sqlite_scan('{folder}/../loom.db', 'invocations')",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{folder}/out.csv''')",
        "SELECT * FROM secret_frame",
        "SELECT * FROM read_parquet('https://example.com/x.parquet')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "COPY invocations TO '{file}' (FORMAT parquet)",
        "ATTACH '{folder}/../loom.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA enable_external_access",
        "SELECT 1; COPY (SELECT 1) TO '{folder}/out.csv'",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW invocations",
        "EXPORT DATABASE '{folder}/out'",
        "CALL pragma_version()",
        "",
    ],
)
def test_a_query_reads_no_other_file_variable_or_address(history: tuple[Store, Path], sql: str) -> None:
    store, folder = history
    secret_frame = {"secret": [SECRET]}
    file = next(folder.glob("invocations/**/*.parquet"))
    before = {path: path.read_bytes() for path in folder.glob("**/*.parquet")}
    with pytest.raises(StoreError) as refused:
        store.history.query(folder, sql.format(folder=folder, file=file))
    assert secret_frame["secret"][0] not in str(refused.value)
    assert "root:" not in str(refused.value)
    assert {path: path.read_bytes() for path in folder.glob("**/*.parquet")} == before
    assert not list(folder.glob("out*"))


def test_a_query_without_end_is_stopped(history: tuple[Store, Path]) -> None:
    store, folder = history
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
    with pytest.raises(StoreError, match="took too long"):
        store.history.query(folder, endless, live=False, timeout_s=0.5)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Path]]:
    place = tmp_path_factory.mktemp("history")
    with Store.open(f"sqlite:///{place / 'loom.db'}") as store:
        filled(store, 3)
        store.history.export(place / "history")
        yield store, place / "history"
