"""The store when things go wrong: no space, no rights, garbage on disk, locks, kills, and several processes at once."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from forked_process import ForkedProcess
from store_rows import query
from waiting import PATIENCE_S

from loomlib.errors import StoreDamagedError, StoreError
from loomlib.recovery import damaged_files, mark_damaged
from loomlib.store import INTERRUPTED, Store, StudyRow
from loomlib.store.writer import Writer, is_alive, this_process

OPEN = """
    import os, sys, resource, time
    from loomlib.errors import *
    from loomlib.store import *
    url = sys.argv[1]
    def agent(store):
        return store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")
    def one(store, text="answer", session="s"):
        id = store.invocations.begin(agent_id=agent_id, session_id=session, prompt="asked")
        store.invocations.finish(id, status="complete", response=text, client_done_time=1.0, client_duration_ms=1.0)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    code = textwrap.dedent(OPEN) + textwrap.dedent(script)
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(script: str, *arguments: object) -> str:
    process = start(script, *arguments)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return out


def prepared(url: str) -> None:
    with Store.open(url) as store:
        store.agents.upsert(scope="local", arn="a", runtime_id="r", region="us-east-1", account_id="1")


# -- several processes


def test_two_processes_opening_a_new_store_at_once_both_find_it_whole(new_store_url: str) -> None:
    script = """
        while time.time() < float(sys.argv[2]):
            pass
        store = Store.open(url)
        print(agent(store).id)
    """
    at = time.time() + 1.5
    processes = [start(script, new_store_url, at) for _ in range(4)]
    for process in processes:
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert out.strip() == "1"


def test_two_processes_with_threads_write_hundreds_of_rows_and_lose_none(store_url: str) -> None:
    prepared(store_url)
    script = """
        import threading
        store = Store.open(url)
        agent_id = 1
        def work(name):
            for _ in range(150):
                one(store, session=name)
        threads = [threading.Thread(target=work, args=(f"{sys.argv[2]}-{n}",)) for n in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    """
    processes = [start(script, store_url, name) for name in ("p", "q")]
    for process in processes:
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
    with Store.open(store_url) as store:
        rows = store.invocations.list(limit=None)
        sessions = store.invocations.sessions(1, limit=None)
    assert len(rows) == 900
    assert {row.status for row in rows} == {"complete"}
    assert {session.session_id: session.invocations for session in sessions} == {
        f"{p}-{n}": 150 for p in "pq" for n in range(3)
    }


def test_a_forked_child_writes_through_connections_of_its_own(store_url: str) -> None:
    script = """
        store = Store.open(url)
        agent_id = agent(store).id
        one(store)
        child = os.fork()
        if child == 0:
            for _ in range(50):
                one(store, session="child")
            os._exit(0)
        for _ in range(50):
            one(store, session="parent")
        assert os.waitpid(child, 0)[1] == 0
        print(len(store.invocations.list(limit=None)))
    """
    assert run(script, store_url).strip() == "101"


# -- killed


def test_a_kill_in_the_middle_of_writing_leaves_a_sound_database_and_an_honest_record(store_url: str) -> None:
    prepared(store_url)
    script = """
        store = Store.open(url)
        agent_id = 1
        open_one = store.invocations.begin(agent_id=1, session_id="never answered", prompt="asked")
        store.invocations.progress(open_one, "half an ans", [1.0])
        print("ready", flush=True)
        while True:
            one(store, "x" * 50_000)
    """
    process = start(script, store_url)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with Store.open(store_url) as store:
        (unanswered,) = store.invocations.list(session_id="never answered")
        assert (unanswered.status, unanswered.failure, unanswered.prompt, unanswered.response) == (
            "error",
            INTERRUPTED,
            "asked",
            "half an ans",
        )
        assert {row.status for row in store.invocations.list(session_id="s", limit=None)} <= {"complete", "error"}
    if store_url.startswith("sqlite"):
        assert query(store_url, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.long)])
def test_no_kill_of_a_writer_loses_or_doubles_what_the_store_acknowledged(
    store_url: str, tmp_path: Path, kills: int
) -> None:
    prepared(store_url)
    notes, rng = tmp_path / "notes", random.Random(kills)
    notes.touch()
    killed = 0
    with ForkedProcess(Path(__file__).with_name("killed_writer.py"), "write", store_url, notes) as writer:
        for _ in range(kills):
            target = notes.read_bytes().count(b"\n") + rng.randint(0, 10)
            writer.start()
            writer.run_until(lambda: notes.read_bytes().count(b"\n") > target)  # noqa: B023
            time.sleep(rng.uniform(0.0, 0.01))
            killed += writer.kill()
    assert killed == kills
    acknowledged = notes.read_text().split()
    with Store.open(store_url) as store:
        rows = store.invocations.list(limit=None)
    complete = [row for row in rows if row.status == "complete"]
    assert all(row.response == (row.prompt or "") * 100 for row in complete)
    stored = Counter(row.prompt for row in complete)
    assert set(stored.values()) == {1}, "nothing twice"
    assert set(acknowledged) <= set(stored), "nothing lost"
    # Of each killed process, one may be stored and not noted yet, or begun and not finished.
    assert len(stored) - len(acknowledged) <= killed
    assert {row.failure for row in rows if row.status != "complete"} <= {INTERRUPTED}
    assert len(rows) - len(acknowledged) <= killed
    if store_url.startswith("sqlite"):
        assert query(store_url, "PRAGMA integrity_check") == [("ok",)]


def test_what_a_living_process_has_open_is_not_called_abandoned(store_url: str) -> None:
    prepared(store_url)
    with Store.open(store_url) as store:
        id = store.invocations.begin(agent_id=1, session_id="s")
        script = "store = Store.open(url); print(store.invocations.abandon_stale())"
        assert run(script, store_url).strip() == "0"
        assert store.invocations.abandon_stale() == 0
        row = store.invocations.get(id)
    assert row is not None
    assert row.status == "pending"


def test_what_another_machine_has_open_is_given_up_after_eight_hours(store_url: str) -> None:
    prepared(store_url)
    with Store.open(store_url) as store:
        old, young = (store.invocations.begin(agent_id=1, session_id=session) for session in ("old", "young"))
        query(store_url, "UPDATE invocations SET writer_host = 'another machine'")
        query(store_url, "UPDATE invocations SET created_at = '2026-01-01 00:00:00.000000' WHERE id = :old", old=old)
        given_up, still_open = store.invocations.get(old), store.invocations.get(young)
    assert given_up is not None
    assert still_open is not None
    assert (given_up.status, given_up.failure, still_open.status) == ("error", INTERRUPTED, "pending")


def test_the_lease_of_a_killed_kernel_is_free_at_once(store_url: str) -> None:
    with Store.open(store_url) as store:
        store.studies.create(
            StudyRow(id="study-1", scope="local", agent_arn="a", design={}, created_at=datetime.now(UTC))
        )
        script = """
            store = Store.open(url)
            store.studies.acquire("study-1", lease_s=3600)
            print("held", flush=True)
            time.sleep(600)
        """
        process = start(script, store_url)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=f"being run by process {process.pid}"):
            store.studies.acquire("study-1")
        process.kill()
        process.communicate()
        store.studies.acquire("study-1")


def test_a_process_is_known_from_a_later_one_of_the_same_number() -> None:
    me = this_process()
    assert is_alive(me) is True
    if me.born:
        boot, namespace, tick = me.born.split("-")
        assert is_alive(Writer(host=me.host, pid=me.pid, born=f"{boot}-{namespace}-1")) is False
        assert is_alive(Writer(host=me.host, pid=me.pid, born=f"00000000-{namespace}-{tick}")) is False
        assert is_alive(Writer(host=me.host, pid=me.pid, born=f"{boot}-1-{tick}")) is None
    assert is_alive(Writer(host="another machine", pid=me.pid, born=me.born)) is None
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        assert is_alive(Writer(host=me.host, pid=child.pid, born="")) is True
        child.kill()
        if sys.platform == "linux":  # dead, though its parent has not asked after it yet
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert is_alive(Writer(host=me.host, pid=child.pid, born="")) is False
    finally:
        child.kill()
        child.wait()
    assert is_alive(Writer(host=me.host, pid=child.pid, born="")) is False


# -- no space


def test_a_store_that_cannot_grow_reports_it_and_keeps_what_it_had(sqlite_url: str) -> None:
    prepared(sqlite_url)
    script = """
        store = Store.open(url)
        agent_id = 1
        one(store, "kept")
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        kept = 1
        try:
            while True:
                one(store, "x" * 20_000)
                kept += 1
        except StoreFullError as error:
            assert "loom.db" in str(error) and "B free on its disk" in str(error), error
        found = store.invocations.list(limit=None)
        assert sum(each.status == "complete" for each in found) == kept, (len(found), kept)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        one(store, "space again")
        print(store.invocations.list(limit=1)[0].response)
    """
    assert run(script, sqlite_url).strip() == "space again"


def test_a_new_store_on_a_full_disk_reports_it(sqlite_url: str) -> None:
    script = """
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        try:
            Store.open(url)
        except StoreFullError as error:
            print(error)
    """
    assert "loom.db" in run(script, sqlite_url)


@pytest.mark.skipif(not Path("/dev/full").exists() or os.geteuid() != 0, reason="needs root to mount a tiny disk")
def test_a_really_full_disk_is_distinguished_from_other_failures(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        script = """
            store = Store.open(url)
            agent_id = agent(store).id
            kept = 0
            try:
                while True:
                    one(store, "x" * 5_000)
                    kept += 1
            except StoreFullError as error:
                assert " B free" in str(error) or " kB free" in str(error), error
            assert sum(each.status == "complete" for each in store.invocations.list(limit=None)) == kept
            print(kept > 0)
        """
        assert run(script, f"sqlite:///{disk}/loom.db").strip() == "True"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# -- what else a file can be


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "diary.txt"
    file.write_text("Dear diary, " * 1000)
    with pytest.raises(StoreDamagedError, match=r"not a database.*move it away"):
        Store.open(f"sqlite:///{file}")
    assert file.read_text().startswith("Dear diary")
    assert list(tmp_path.iterdir()) == [file]


def test_a_database_whose_beginning_is_lost_is_set_aside(sqlite_url: str) -> None:
    prepared(sqlite_url)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    data = b"\0" * 4096 + file.read_bytes()[4096:]
    file.write_bytes(data)
    with Store.open(sqlite_url) as store:
        assert store.agents.list() == ()
    (damaged,) = damaged_files(file.parent)
    assert damaged.aside.read_bytes() == data


def test_what_is_readable_of_a_damaged_database_is_there_when_it_is_opened_again(sqlite_url: str) -> None:
    prepared(sqlite_url)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with Store.open(sqlite_url) as store:
        for _ in range(50):
            store.invocations.begin(agent_id=1, session_id="s", prompt="x" * 3000)
    data = bytearray(file.read_bytes())
    end = data.rindex(b"xxxx")
    data[end - 20_000 : end - 12_000] = os.urandom(8_000)
    file.write_bytes(data)
    with (
        pytest.raises(StoreDamagedError, match=r"damaged.*loom\.db.*Try: open it again"),
        Store.open(sqlite_url) as store,
    ):
        store.invocations.list(limit=None)
    with Store.open(sqlite_url) as store:
        assert [agent.arn for agent in store.agents.list()] == ["a"]
        assert 20 <= len(store.invocations.list(limit=None)) < 50
        store.invocations.begin(agent_id=1, session_id="afterwards")
    assert len(damaged_files(file.parent)) == 1


def test_a_schema_whose_names_are_no_text_is_damage(sqlite_url: str) -> None:
    prepared(sqlite_url)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    data = bytearray(file.read_bytes())
    row = data.index(b"tableeval_scoreseval_scores") + len("table")
    data[row : row + 1] = b"\x86"
    definition = data.index(b"CREATE TABLE", row)
    data[definition : definition + 3] = b"XXX"
    file.write_bytes(data)
    with Store.open(sqlite_url) as store:
        assert [agent.arn for agent in store.agents.list()] == ["a"]
    assert len(damaged_files(file.parent)) == 1


def test_a_damaged_database_that_is_still_open_is_not_replaced(sqlite_url: str) -> None:
    prepared(sqlite_url)
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    with Store.open(sqlite_url) as store:
        mark_damaged(file)
        with Store.open(sqlite_url) as second:
            assert len(second.agents.list()) == 1
        assert store.agents.get("local", "a") is not None
        assert "another process has it open" in run(
            """
            try:
                Store.open(url)
            except StoreError as error:
                print(error)
            """,
            sqlite_url,
        )
    assert not damaged_files(file.parent)
    with Store.open(sqlite_url) as store:
        assert len(store.agents.list()) == 1
    assert len(damaged_files(file.parent)) == 1


def test_a_lock_that_nobody_gives_back_is_reported_after_the_timeout(sqlite_url: str) -> None:
    prepared(sqlite_url)
    blocker = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        with Store.open(sqlite_url, lock_timeout_s=0.2) as store:
            assert store.agents.get("local", "a") is not None  # reading goes on
            with pytest.raises(StoreError, match="locked by another process"):
                store.invocations.begin(agent_id=1, session_id="s")
    finally:
        blocker.close()


def test_a_place_where_no_file_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(f"sqlite:///{tmp_path}/file/loom.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(f"sqlite:///{tmp_path}/folder.db")


@pytest.mark.parametrize(
    "url", ["", "nonsense", "unheardof://x/y", "mysql+unheardof://x/y", "postgresql+asyncpg://x/y"]
)
def test_an_address_that_nobody_can_open_is_a_store_error(url: str) -> None:
    with pytest.raises(StoreError):
        Store.open(url)
