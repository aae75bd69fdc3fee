"""The store on PostgreSQL: its address and password, waiting, deadlocks, lost connections, and leases of many."""

from __future__ import annotations

import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from postgresql_server import PostgresqlServer
from sqlalchemy import Connection, text
from store_rows import query

from loomlib.errors import StoreError
from loomlib.store import Store, StoredAnswer, StoredResult, StudyRow
from loomlib.store.database import Database

AGENT = {"scope": "local", "arn": "a", "runtime_id": "r", "region": "us-east-1", "account_id": "1"}


@pytest.fixture
def url(postgresql_server: PostgresqlServer):
    with postgresql_server.store() as address:
        yield address


def test_an_address_without_a_driver_is_one_of_psycopg(url: str) -> None:
    with Store.open(url.replace("+psycopg", "")) as store:
        assert store.url.startswith("postgresql+psycopg://loom:***@127.0.0.1")
        assert store.agents.list() == ()
    with pytest.raises(StoreError, match="through psycopg, not through asyncpg"):
        Store.open(url.replace("+psycopg", "+asyncpg"))


def test_no_error_shows_the_password(url: str, postgresql_server: PostgresqlServer) -> None:
    addresses = {
        url.replace(f":{postgresql_server.port}/", ":1/"): "connection to the database failed",  # nothing listens there
        url.replace("//loom:", "//somebody:"): "database refused.*check the user, the password",
        url.rpartition("/")[0] + "/missing": "database refused.*check the user, the password",
        url.replace(f":{postgresql_server.port}/", ":port/"): "not a database address",
        url + "?sslmode=nonsense": "sslmode",
    }
    for address, message in addresses.items():
        with pytest.raises(StoreError, match=message) as caught:
            Store.open(address)
        traceback_text = "".join(traceback.format_exception(caught.value))
        assert "hunter2" not in traceback_text
        assert "Try: " in str(caught.value)


def test_a_server_without_a_free_connection_is_named(url: str, postgresql_server: PostgresqlServer) -> None:
    # The connections of earlier tests count until their processes have ended.
    postgresql_server.run("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'loom'")
    postgresql_server.run("ALTER ROLE loom CONNECTION LIMIT 1")
    try:
        with Store.open(url), pytest.raises(StoreError, match=r"accepts no more connections.*max_connections"):
            Store.open(url)
    finally:
        postgresql_server.run("ALTER ROLE loom CONNECTION LIMIT -1")


def test_without_the_driver_one_error_names_the_extra_that_brings_it(tmp_path) -> None:
    script = """
import sys
sys.modules["psycopg"] = None
from loomlib.errors import StoreError
from loomlib.store import Store
Store.open(f"sqlite:///{sys.argv[1]}/loom.db").close()
try:
    Store.open("postgresql://loom:hunter2@127.0.0.1:1/loom")
except StoreError as error:
    print(error)
"""
    process = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    assert "driver is not installed" in process.stdout
    assert "pip install 'loomlib[postgresql]'" in process.stdout
    assert "hunter2" not in process.stdout


def test_a_lock_that_nobody_gives_back_is_reported_after_the_timeout(
    url: str, postgresql_server: PostgresqlServer
) -> None:
    with Store.open(url, lock_timeout_s=0.2) as store, Store.open(url) as other:
        agent = store.agents.upsert(**AGENT)
        with other._database.write() as blocking:
            blocking.execute(text("LOCK TABLE invocations IN EXCLUSIVE MODE"))
            assert store.agents.get("local", "a") == agent, "reading goes on"
            with pytest.raises(StoreError, match="locked by another process"):
                store.invocations.begin(agent_id=agent.id, session_id="s")
        store.invocations.begin(agent_id=agent.id, session_id="s")


def test_a_deadlock_is_resolved_by_beginning_anew(url: str) -> None:
    with Store.open(url) as store:
        first, second = (store.agents.upsert(**(AGENT | {"arn": arn})).id for arn in "ab")
    database = Database(url, lock_timeout_s=30)
    both_hold_one, attempts = threading.Barrier(2), []

    def change(ids: tuple[int, int]) -> None:
        is_first = True

        def work(connection: Connection) -> None:
            nonlocal is_first
            attempts.append(ids)
            for id in ids:
                connection.execute(text("UPDATE agents SET status = status WHERE id = :id"), {"id": id})
                if is_first:
                    is_first = False
                    both_hold_one.wait(60)

        database.write_again(work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(change, [(first, second), (second, first)]))
    database.close()
    assert len(attempts) > 2, "one of the two had to begin anew"


def test_a_lost_connection_is_named_and_the_next_call_gets_another(
    url: str, postgresql_server: PostgresqlServer
) -> None:
    with Store.open(url) as store:

        def work(connection: Connection) -> None:
            (pid,) = connection.execute(text("SELECT pg_backend_pid()")).one()
            postgresql_server.run(f"SELECT pg_terminate_backend({pid})")
            connection.execute(text("SELECT 1"))

        with pytest.raises(StoreError, match=r"connection to the database failed.*not stored"):
            store._database.write_again(work)
        ended = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'loom'"  # waits for it
        postgresql_server.run(ended)
        assert store.agents.list() == (), "a connection that has ended in the pool is replaced"


def test_all_queries_of_a_reading_transaction_see_one_moment_and_cannot_write(url: str) -> None:
    with Store.open(url) as store:
        with store._database.read() as connection:
            counted = text("SELECT count(*) FROM agents")
            assert connection.execute(counted).scalar_one() == 0
            store.agents.upsert(**AGENT)
            assert connection.execute(counted).scalar_one() == 0
        with pytest.raises(StoreError, match="read-only"), store._database.read() as connection:
            connection.execute(text("DELETE FROM agents"))
        assert len(store.agents.list()) == 1


def test_text_that_postgresql_refuses_is_replaced_in_every_column(url: str) -> None:
    with Store.open(url) as store:
        agent = store.agents.upsert(**(AGENT | {"runtime_id": "r\x00"}))
        id = store.invocations.begin(agent_id=agent.id, session_id="s\x00\ud800", prompt="p\x00")
        (stored,) = store.invocations.list(session_id="s\x00\ud800")
        assert (stored.id, stored.session_id, stored.prompt) == (id, "s␀\ufffd", "p␀")


def test_of_many_processes_that_want_a_lease_one_gets_it(url: str) -> None:
    with Store.open(url) as store:
        store.studies.create(StudyRow(id="s", scope="local", agent_arn="a", design={}, created_at=datetime.now(UTC)))
    script = """
import sys
from loomlib.errors import StoreError
from loomlib.store import Store
store = Store.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    store.studies.acquire("s")
    print("mine", flush=True)
except StoreError as error:
    print("is being run" in str(error) and "another's", flush=True)
sys.stdin.readline()
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.stdout.readline().strip() for process in processes if process.stdout]
    for process in processes:
        process.communicate("end\n")
    assert sorted(answers) == ["another's"] * 3 + ["mine"]


def test_a_lease_ends_by_the_clock_of_the_database_not_of_the_machine_that_wants_it(url: str) -> None:
    with Store.open(url) as store:
        store.studies.create(StudyRow(id="s", scope="local", agent_arn="a", design={}, created_at=datetime.now(UTC)))
        store.studies.acquire("s", lease_s=3600)
        query(url, "UPDATE studies SET lease_host = 'another machine'")
    script = """
import datetime, sys
class TomorrowsDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(days=1)
datetime.datetime = TomorrowsDatetime
from loomlib.errors import StoreError
from loomlib.store import Store
try:
    Store.open(sys.argv[1]).studies.acquire("s")
except StoreError as error:
    print(error)
"""
    process = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=True)
    assert "is being run by process" in process.stdout
    assert "on another machine" in process.stdout


def test_writers_of_the_same_answers_at_once_share_the_first_ones(url: str) -> None:
    answers = [StoredAnswer(0, f"key {n}", False, 1.0, None, None, None, None, None, None, "{}") for n in range(40)]
    with Store.open(url) as store:
        query(
            url,
            "INSERT INTO eval_sets (digest, name, version, case_count, cases, tenant)"
            " VALUES ('d', 'n', '1', 1, '', 'default')",
        )
        for run in "abcd":
            query(
                url,
                "INSERT INTO eval_runs (id, set_digest, target_name, target_key, repeats, state, created_at, tenant)"
                " VALUES (:run, 'd', 't', 'k', 1, 'running', now(), 'default')",
                run=run,
            )

        def put(run: str) -> list[int]:
            ordered = answers if run in "ab" else answers[::-1]
            results = [StoredResult(run, 0, place, 0, False) for place in range(len(ordered))]
            return [answer.id for answer in store.eval_answers.put(ordered, results)]

        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(put, "abcd"))
        assert ids[0] == ids[1] == ids[2][::-1] == ids[3][::-1]
        assert query(url, "SELECT count(*) FROM eval_answers") == [(40,)]
