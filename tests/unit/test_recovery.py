"""Damaged SQLite files: what is readable is recovered, and the damaged file is set aside."""

from __future__ import annotations

import logging
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from loomlib.errors import StoreError
from loomlib.recovery import damaged_files, mark_damaged, recover_if_damaged

SCHEMA = """
    CREATE TABLE parents (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);
    CREATE TABLE children (parent INTEGER NOT NULL REFERENCES parents(id), number INTEGER, content TEXT,
        PRIMARY KEY (parent, number)) WITHOUT ROWID;
    CREATE INDEX children_by_number ON children (number);
    PRAGMA user_version=7;
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "things.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("PRAGMA journal_mode=WAL;" + SCHEMA)
        database.executemany("INSERT INTO parents (name) VALUES (?)", [(f"parent {n:05}" * 20,) for n in range(500)])
        database.executemany("INSERT INTO children VALUES (?, ?, ?)", [(n, n, "x" * 200) for n in range(1, 501)])
    return path


def overwrite(file: Path, begin: int, length: int, content: bytes | None = None) -> bytes:
    data = bytearray(file.read_bytes())
    data[begin : begin + length] = content or random.Random(1).randbytes(length)
    file.write_bytes(data)
    return bytes(data)


def page_of(file: Path, content: bytes) -> int:
    """Return where the page of a table begins that holds `content`."""
    data = file.read_bytes()
    return next(
        begin for begin in range(0, len(data), 4096) if data[begin] == 0x0D and content in data[begin : begin + 4096]
    )


def count(file: Path, table: str) -> int:
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_sound_file_is_left_alone(file: Path) -> None:
    before = file.read_bytes()
    assert recover_if_damaged(file) is None
    assert recover_if_damaged(file.with_name("missing.db")) is None
    assert file.read_bytes() == before


def test_the_rows_of_readable_pages_are_recovered(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    damaged_bytes = overwrite(file, page_of(file, b"parent 00250"), 4096)
    with caplog.at_level(logging.ERROR):
        damaged = recover_if_damaged(file)
    assert damaged is not None
    assert damaged.aside.read_bytes() == damaged_bytes
    assert "recovered into a new file" in caplog.text
    assert str(file) in caplog.text
    assert damaged.aside.name in caplog.text
    assert 400 < count(file, "parents") < 500
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (7,)
        assert database.execute("SELECT seq FROM sqlite_sequence").fetchone() == (500,)
        assert database.execute("SELECT 1 FROM sqlite_master WHERE name = 'children_by_number'").fetchone()
        orphans = "SELECT count(*) FROM children WHERE parent NOT IN (SELECT id FROM parents)"
        assert database.execute(orphans).fetchone() == (0,)
    assert [damaged_file.aside for damaged_file in damaged_files(file.parent)] == [damaged.aside]
    assert recover_if_damaged(file) is None


@pytest.mark.parametrize("content", [b"not a database at all" * 50, b"\0" * 8192])
def test_of_a_file_that_is_no_database_nothing_is_recovered_and_nothing_lost(file: Path, content: bytes) -> None:
    data = overwrite(file, 0, len(content), content)
    damaged = recover_if_damaged(file)
    assert damaged is not None
    assert damaged.recovered == ""
    assert not file.exists()
    assert damaged.aside.read_bytes() == data


def test_nothing_is_recovered_without_a_table_that_the_others_need(file: Path) -> None:
    overwrite(file, 5 * 4096, 4096)
    damaged = recover_if_damaged(file, needs=["versions"])
    assert damaged is not None
    assert not damaged.recovered


def test_damage_that_was_found_in_use_is_recovered_when_the_file_is_opened_again(file: Path) -> None:
    mark_damaged(file)
    damaged = recover_if_damaged(file, thorough=False)
    assert damaged is not None
    assert "while it was used" in damaged.reason
    assert count(file, "parents") == 500
    assert recover_if_damaged(file, thorough=False) is None


def test_a_damaged_file_that_another_process_has_open_is_not_replaced(file: Path) -> None:
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM parents').fetchone()\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "open\n"
        mark_damaged(file)
        with pytest.raises(StoreError, match=r"another process has it open.*things\.db.*open it again"):
            recover_if_damaged(file)
        other.stdin.close()
    assert recover_if_damaged(file) is not None
    assert count(file, "parents") == 500


@pytest.mark.parametrize("seed", range(25))
def test_whatever_bytes_change_the_file_is_sound_afterwards(file: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(chance.choice([1, 5, 50])):
        overwrite(file, chance.randrange(file.stat().st_size), chance.choice([1, 8, 600]), None)
    recover_if_damaged(file)
    if file.exists():
        with closing(sqlite3.connect(file)) as database:
            assert database.execute("PRAGMA quick_check").fetchone() == ("ok",)
    assert not list(file.parent.glob("*.recovering*"))
