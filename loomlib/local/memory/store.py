"""`memory.db`: one writing thread that commits in groups, and readers that never wait for it.

A write is acknowledged when the transaction that holds it is on disk. Requests that arrive while one transaction is
being written share the next: one fsync for all of them, and no request waits for a timer.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from .schema import SCHEMA

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
FILE_NAME: Final = "memory.db"
_GROUP = 256
_READERS = 2


class MemoryStore:
    """All memories of one home, in SQLite."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE_NAME
        self._writing = _connect(self._path)
        self._writing.executescript(SCHEMA)
        self._queue: queue.SimpleQueue[tuple[Work[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._reading = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="memory-read", initializer=self._open_reader)
        self._writer = threading.Thread(target=self._write_groups, name="memory-write", daemon=True)
        self._writer.start()

    def prepare(self, script: str) -> None:
        """Make tables that another room keeps here; `script` must be harmless when they exist."""
        self.write_now(lambda connection: [connection.execute(each) for each in script.split(";") if each.strip()])

    async def write(self, work: Work[T]) -> T:
        """What `work` returns, once its changes are on disk. If it raises, nothing of it is kept."""
        return await asyncio.wrap_future(self._submit(work))

    def write_now(self, work: Work[T]) -> T:
        """As `write`, for threads other than the event loop's."""
        return self._submit(work).result()

    async def read(self, work: Work[T]) -> T:
        """What `work` reads in a thread of its own, from the state after every write acknowledged so far."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def read_now(self, work: Work[T]) -> T:
        """As `read`, for threads other than the event loop's."""
        return self._readers.submit(self._read, work).result()

    def close(self) -> None:
        """Finish what was submitted, then close."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()
        self._writing.close()

    def _submit(self, work: Work[T]) -> Future[T]:
        answer: Future[T] = Future()
        with self._closing:
            if self._closed:
                raise RuntimeError("The memory store is closed")
            self._queue.put((work, answer))
        return answer

    def _write_groups(self) -> None:
        while True:
            group = [self._queue.get()]
            while group[-1] is not None and len(group) < _GROUP and not self._queue.empty():
                group.append(self._queue.get())
            self._write_group([each for each in group if each is not None])
            if group[-1] is None:
                return

    def _write_group(self, group: list[tuple[Work[Any], Future[Any]]]) -> None:
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            if group:
                self._writing.execute("BEGIN IMMEDIATE")
            for work, answer in group:
                self._writing.execute("SAVEPOINT one")
                try:
                    outcomes.append((answer, work(self._writing), None))
                except Exception as error:  # noqa: BLE001 - it is the submitter's: handed on, and its changes undone
                    self._writing.execute("ROLLBACK TO one")
                    outcomes.append((answer, None, error))
                self._writing.execute("RELEASE one")
            if group:
                self._writing.execute("COMMIT")
        except sqlite3.Error as error:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
            outcomes = [(answer, None, error) for _, answer in group]
        for answer, result, error in outcomes:
            if not answer.set_running_or_notify_cancel():
                continue  # the request is gone; what it asked for is done all the same
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

    def _read(self, work: Work[T]) -> T:
        return work(self._reading.connection)

    def _open_reader(self) -> None:
        connection = _connect(self._path)
        connection.execute("PRAGMA query_only=ON")
        self._reading.connection = connection
        self._connections.append(connection)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.row_factory = sqlite3.Row
    connection.executescript(
        # FULL: with less, an acknowledged event outlives a killed process but not a power cut.
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=10000; PRAGMA mmap_size=268435456;"
        "PRAGMA cache_size=-16000; PRAGMA temp_store=MEMORY;"
    )
    return connection
