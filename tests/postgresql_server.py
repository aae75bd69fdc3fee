"""A PostgreSQL server of the tests: Debian's, on loopback, with a data folder of its own, ended with the tests.

A small process of its own starts the server and waits for the end of its standard input: the server ends and its folder
goes also when the tests are killed. `initdb` refuses root, so root starts both as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

MISSING = "needs PostgreSQL's server: .ci/postgresql installs Debian's"

# A server that nobody needs after a power cut: no write waits for a disk.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "autovacuum": "off",
    "jit": "off",
    "timezone": "Asia/Kathmandu",  # no time may depend on the server's zone
}
_OWNER = "loom"
_EMPTY = """
    SET session_replication_role = replica;
    DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
            EXECUTE format('DELETE FROM %I', name);
        END LOOP;
        FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
            EXECUTE format('ALTER SEQUENCE %I RESTART', name);
        END LOOP;
    END $$
"""


def find_programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`; Debian keeps them out of the PATH. None without them."""
    initdb = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    programs = Path(initdb).resolve() if initdb else (debian[-1] if debian else None)
    return programs.parent if programs and (programs.parent / "postgres").exists() else None


class PostgresqlServer:
    """A running server. `loom` owns its databases and is no superuser; `postgres` is one.

    Attributes:
        password: The password of both users; it appears nowhere but in addresses.
    """

    def __init__(self, programs: Path, **settings: str) -> None:
        self._programs = programs
        self.password = f"hunter2@/:%{secrets.token_hex(8)}"
        self._folder = Path(tempfile.mkdtemp(prefix="loom-postgresql-"))
        self._names = count()
        self._template: str | None = None
        self._emptied: list[str] = []
        self._connections: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._dropping = ThreadPoolExecutor(1)
        self._settings = _SETTINGS | settings
        self._keeper: subprocess.Popen[str] | None = None
        self._initialize()
        self.start()
        self._execute(f"CREATE ROLE {_OWNER} LOGIN PASSWORD '{self.password}'")

    def url(self, database: str, *, user: str = _OWNER) -> str:
        """Return the address of a database, with the password."""
        return f"postgresql+psycopg://{user}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{database}"

    def create(self, *, template: str = "template1") -> str:
        """Create a database of its own and return its name."""
        name = f"test_{os.getpid()}_{next(self._names)}"
        self._execute(f"CREATE DATABASE {name} OWNER {_OWNER} TEMPLATE {template}")
        return name

    def create_migrated(self) -> str:
        """Create a database with the tables of a new store, which are made once and copied."""
        if self._template is None:
            from loomlib.store import Store

            template = self.create()
            Store.open(self.url(template)).close()
            # A copy waits only 5 s for the end of the connections to its template.
            self.run(f"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '{template}'")
            self._template = template
        return self.create(template=self._template)

    def drop(self, database: str) -> None:
        """Drop a database, whoever is connected to it; nobody waits for it, as it writes a checkpoint."""
        self._dropping.submit(self.run, f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    @contextmanager
    def database(self) -> Iterator[str]:
        """Create a database without tables for the block and return its address."""
        name = self.create()
        try:
            yield self.url(name)
        finally:
            self.drop(name)

    @contextmanager
    def store(self) -> Iterator[str]:
        """Return the address of a new store's database for the block, which must not change its tables.

        Afterwards its rows are removed, and another block gets it: that takes a tenth of the time of a new one.
        """
        name = self._emptied.pop() if self._emptied else self.create_migrated()
        try:
            yield self.url(name)
        finally:
            self._execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
                " AND pid <> pg_backend_pid()", database=name,
            )  # fmt: skip
            self._execute(_EMPTY, database=name)
            self._emptied.append(name)

    def start(self) -> None:
        """Start the server, on another port than before."""
        for _ in range(5):
            self.port = _free_port()
            log = (self._folder / "log").open("w")
            with log:
                self._keeper = subprocess.Popen(
                    [sys.executable, __file__, str(self._folder), *self._command()],
                    stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True,
                    start_new_session=True,  # a signal to the group of the tests must not end it before it cleans up
                )  # fmt: skip
            if self._answers():
                return
            self.stop()
        raise RuntimeError(f"PostgreSQL did not start: {(self._folder / 'log').read_text()[-2000:]}")

    def run(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser and return its rows."""
        with self._connect(database) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """Stop the server at once, as a crash would; its databases stay, and `start` recovers them."""
        if self._keeper is not None and self._keeper.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._keeper.communicate("stop\n")
            self._keeper = None

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self._dropping.shutdown(cancel_futures=True)
        for connection in self._connections.values():
            connection.close()
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _initialize(self) -> None:
        account = _account()
        if account:
            os.chown(self._folder, account["user"], account["group"])
        word = self._folder / "password"
        word.write_text(self.password)
        if account:
            os.chown(word, account["user"], account["group"])
        subprocess.run(
            [str(self._programs / "initdb"), "-D", str(self._folder / "data"), "--no-sync", "--no-instructions",
             "--username=postgres", "--auth=scram-sha-256", f"--pwfile={word}", "--encoding=UTF8",
             "--locale=C.UTF-8"],
            check=True, capture_output=True, cwd=self._folder, **account,
        )  # fmt: skip
        word.unlink()

    def _command(self) -> list[str]:
        settings = self._settings | {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self._folder),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", str(self._folder / "data"), *options]

    def _answers(self) -> bool:
        import psycopg

        assert self._keeper is not None
        deadline = time.monotonic() + 60
        while self._keeper.poll() is None and time.monotonic() < deadline:
            try:
                self._connect().close()
                return True
            except psycopg.OperationalError:
                time.sleep(0.02)
        return False

    def _connect(self, database: str = "postgres") -> Any:
        import psycopg

        return psycopg.connect(
            host=str(self._folder), port=self.port, user="postgres", password=self.password, dbname=database,
            autocommit=True,
        )  # fmt: skip

    def _execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement through a connection that stays open."""
        with self._lock:
            connection = self._connections.get(database)
            if connection is None or connection.broken:
                connection = self._connections[database] = self._connect(database)
            connection.execute(statement)


def _account() -> Mapping[str, Any]:
    """Return the account that runs the server, as arguments of a subprocess; none when this user may."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return {}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _keep(folder: Path, command: list[str]) -> None:
    """Run the server until standard input ends; remove its folder unless the last line was `stop`."""
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True, **_account())
    is_stopping = threading.Event()

    def end_with_server() -> None:
        server.wait()
        if not is_stopping.is_set():
            os._exit(1)

    threading.Thread(target=end_with_server, daemon=True).start()
    stops = sys.stdin.read().endswith("stop\n")
    is_stopping.set()
    server.send_signal(signal.SIGQUIT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(30)
    if not stops:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _keep(Path(sys.argv[1]), sys.argv[2:])
