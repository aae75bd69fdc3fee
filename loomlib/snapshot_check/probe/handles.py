"""Open sockets, files and databases, threads and child processes."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any, cast

from .agent_code import AgentCode
from .findings import Findings
from .objects import Node
from .tracing import CallTracer, SourceLine

_DATABASES = frozenset(
    {"sqlite3", "psycopg", "psycopg2", "pymysql", "MySQLdb", "mysql", "asyncpg", "duckdb", "pyodbc", "oracledb", "dbm"}
    | {"_gdbm", "_dbm", "shelve"}
)
_SPECIAL = ("/dev/", "/proc/", "/sys/", "/memfd:", "pipe:", "anon_inode:", "socket:")
_LISTENING = 1


class Handles:
    """What is open, before and after the agent has started.

    Args:
        code: The agent's code.
        tracer: What was traced.
    """

    def __init__(self, code: AgentCode, tracer: CallTracer) -> None:
        self._code, self._tracer = code, tracer
        self._descriptors = _descriptors()
        self._threads = {id(thread) for thread in threading.enumerate()}
        self._children = _children()
        self._databases: list[tuple[SourceLine, str, str]] = []
        self.remaining: list[threading.Thread] = []

    def examine(self, node: Node, line: SourceLine) -> None:
        """Keep an object if it is an open database."""
        kind = cast("Any", type(node.value))
        if (
            node.is_own
            and kind.__module__.partition(".")[0] in _DATABASES
            and kind.__name__.lower().endswith(
                ("connection", "gdbm", "dbm", "shelf", "dbfilenameshelf", "cursor", "_database", "duckdbpyconnection")
            )
            and _is_file_database(node.value)
        ):
            self._databases.append((line, node.path(), f"{kind.__module__}.{kind.__name__}"))

    def threads(self) -> list[threading.Thread]:
        """Return the threads that were started since the beginning and run."""
        own = threading.current_thread()
        return [
            thread for thread in threading.enumerate()
            if id(thread) not in self._threads and thread is not own and thread is not threading.main_thread()
        ]  # fmt: skip

    def report(self, findings: Findings, survivors: set[str]) -> None:
        """Report everything that is open.

        Args:
            findings: Where findings go.
            survivors: Names of threads that run in a copy too, because a hook started them again.
        """
        self._report_descriptors(findings)
        for line, path, name in self._databases:
            findings.add("database", line, path=path, made_by=name)
        for thread in self.threads():
            line = self._tracer.threads.get(id(thread))
            if line is not None and thread.name not in survivors:
                findings.add("thread", line, path=thread.name[:80], made_by=type(thread).__name__)
        if len(os.listdir("/proc/self/task")) > len(threading.enumerate()) + 1:
            for line in self._tracer.raw_threads:
                findings.add("thread", line, made_by="_thread.start_new_thread")
        if _children() - self._children:
            for line in self._tracer.processes:
                findings.add("process", line, made_by="a child process")

    def _report_descriptors(self, findings: Findings) -> None:
        sockets: dict[int, tuple[SourceLine, bool]] = {}
        for reference, line, is_direct in self._tracer.sockets:
            opened = reference()
            if opened is not None and opened.fileno() >= 0:
                sockets[opened.fileno()] = (line, is_direct)
        for descriptor, target in _descriptors().items():
            if self._descriptors.get(descriptor) == target:
                continue
            if target.startswith("socket:"):
                if descriptor in sockets:
                    line, is_direct = sockets[descriptor]
                    state = _socket_state(descriptor, is_direct)
                    if state:
                        findings.add("connection", line, made_by=state)
            elif not target.startswith(_SPECIAL):
                self._report_file(findings, target.removesuffix(" (deleted)"))

    def _report_file(self, findings: Findings, path: str) -> None:
        name = os.path.basename(path)[:80]
        for suffix in ("", "-wal", "-journal", "-shm"):
            plain = path.removesuffix(suffix) if suffix else path
            if plain in self._tracer.databases:
                findings.add("database", self._tracer.databases[plain], path=name, made_by="sqlite3.connect")
                return
        if any(line for line, _, kind in self._databases if "dbm" in kind or "shel" in kind) and path.endswith(
            (".db", ".dat", ".dir", ".pag")
        ):
            return
        line = self._tracer.files.get(path)
        if line is not None:
            findings.add("file", line, path=name, made_by="open")


def _descriptors() -> dict[int, str]:
    descriptors: dict[int, str] = {}
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return descriptors
    for name in names:
        try:
            descriptors[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    return descriptors


def _children() -> set[int]:
    children: set[int] = set()
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                children.update(map(int, file.read().split()))
    except OSError:
        pass
    return children


def _socket_state(descriptor: int, is_direct: bool) -> str:
    """Return what a socket is, or an empty text for one that is neither connected nor bound by the agent."""
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        try:
            if copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == _LISTENING:
                return "a listening socket"
        except OSError:
            pass
        try:
            copy.getpeername()
        except OSError:
            return ""
        if copy.family == socket.AF_UNIX and not is_direct:
            return ""  # the wake-up pair of an event loop
        return "a connected socket"


def _is_file_database(value: Any) -> bool:
    if type(value).__module__ != "sqlite3":
        return True
    try:
        if not hasattr(value, "execute"):
            return False
        connection = value if hasattr(value, "cursor") else value.connection
        return any(row[2] for row in connection.execute("PRAGMA database_list").fetchall())
    except Exception:  # noqa: BLE001 (closed, or of another thread)
        return False
