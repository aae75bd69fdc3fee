"""Start, find and stop the local AgentCore of a folder."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from ..errors import LocalServiceError, LocalServiceNotRunningError, LocalServiceNotStartedError
from .loopback import ask
from .state import ServiceLock, ServiceOptions, ServiceState, log_file, make_home, read_state

_READY_WITHIN_S = 60.0
_STOPPED_WITHIN_S = 15.0
_LOG_LIMIT_BYTES = 5_000_000


def find(home: Path) -> ServiceState | None:
    """The service that lives in `home`, None when there is none."""
    holder = ServiceLock(home).holder()
    state = read_state(home) if holder else None
    return state if state and state.pid == holder else None


def start(
    home: Path, options: ServiceOptions | None = None, *, persistent: bool, foreground: bool = False
) -> tuple[ServiceState, bool]:
    """The service of `home` and whether this call started it; when it returns, the service answers.

    A running one is kept as it is, with its own options, but becomes persistent when asked to. `foreground` serves in
    this process and returns when the service has ended. Raises `LocalServiceNotStartedError` with the last lines of its log.
    """
    make_home(home)
    with _one_starter(home):
        if running := _answering(home):
            if persistent and not running.persistent:
                ask(running, "POST", "/_loom/persist")
                running = find(home) or running
            return running, False
        if not foreground:
            return _spawn(home, options or ServiceOptions(), persistent), True
    from .serve import serve  # brings uvicorn, which a caller of find() should not pay for

    return serve(home, options or ServiceOptions(), persistent=persistent), True


def stop(home: Path) -> bool:
    """End the service of `home` and every agent process; False when none ran."""
    state = find(home)
    if state is None:
        return False
    with suppress(LocalServiceError):
        ask(state, "POST", "/_loom/stop")
    for signal_number in (None, signal.SIGTERM, signal.SIGKILL):
        if signal_number is not None:
            with suppress(ProcessLookupError):
                os.kill(state.pid, signal_number)
        deadline = time.monotonic() + _STOPPED_WITHIN_S
        while time.monotonic() < deadline:
            if ServiceLock(home).holder() != state.pid:
                return True
            time.sleep(0.01)
    raise LocalServiceError("The local AgentCore does not end", on=f"process {state.pid}")


def _answering(home: Path) -> ServiceState | None:
    """The living service once it has answered; None when there is none, or when it was just dying."""
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while running := find(home):
        try:
            ask(running, "GET", "/_loom/ping")
        except LocalServiceNotRunningError:
            # A process that was killed holds its lock for another moment.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return running
    return None


@contextmanager
def _one_starter(home: Path) -> Generator[None]:
    """Starters of the same home wait for one another, so that two notebooks never start two services."""
    descriptor = os.open(home / "start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _spawn(home: Path, options: ServiceOptions, persistent: bool) -> ServiceState:
    log = _open_log(home)
    log_begin = os.fstat(log).st_size
    ready, tell = os.pipe()
    try:
        # The options travel by standard input: a model address may hold a key, and `ps` shows arguments to everybody.
        with subprocess.Popen(
            [sys.executable, "-P", "-m", "loomlib.local", "--home", str(home), "--ready-fd", str(tell)]
            + (["--persistent"] if persistent else []),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(tell,),
            env=os.environ | {"PYTHONPATH": _import_path()},
        ) as process:
            os.close(tell)
            tell = -1
            process.communicate(json.dumps(asdict(options)).encode())
        # The process above was only the parent of the service: it forks, so that nobody inherits a zombie.
        answered, _, _ = select.select([ready], [], [], _READY_WITHIN_S)
        if answered and os.read(ready, 16).startswith(b"ready") and (state := find(home)):
            return state
    finally:
        os.close(ready)
        os.close(log)
        if tell >= 0:
            os.close(tell)
    if holder := ServiceLock(home).holder():
        with suppress(ProcessLookupError):
            os.kill(holder, signal.SIGKILL)
    raise LocalServiceNotStartedError(
        "The local AgentCore could not be started", on=str(home), try_=_log_tail(home, log_begin)
    )


def _import_path() -> str:
    """`PYTHONPATH` under which the new process finds this very loomlib, also from a source tree."""
    ours = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))


def _open_log(home: Path) -> int:
    path = log_file(home)
    with suppress(FileNotFoundError):
        if path.stat().st_size > _LOG_LIMIT_BYTES:
            path.replace(path.with_suffix(".log.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _log_tail(home: Path, begin: int, lines: int = 12) -> str:
    with log_file(home).open("rb") as file:
        file.seek(begin)
        text = file.read().decode("utf-8", "replace").strip()
    return f"read {log_file(home)}; its last lines:\n" + "\n".join(text.splitlines()[-lines:])
