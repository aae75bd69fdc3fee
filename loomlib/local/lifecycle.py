"""Start, find and stop the local AgentCore of a home folder."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ..errors import LocalServiceError, LocalServiceNotRunningError, LocalServiceNotStartedError
from .loopback import ask
from .sandbox.isolation import choose
from .sandbox.variables import model_settings, service_environment
from .state import ServiceLock, ServiceOptions, ServiceState, has_damaged_state, log_file, make_home, read_state

_READY_WITHIN_S = 60.0
_STOPPED_WITHIN_S = 15.0
_LOG_LIMIT_BYTES = 5_000_000
_ONE_THREAD: Final = {"OMP_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1"}
"""A matrix product in several threads takes twice the processor time, and waits where the cores are busy."""

SERVICE_TEMPLATE: Final = "LOOM_SERVICE_TEMPLATE"
"""The environment variable with the socket of a process that forks services, used by tests."""


def find(home: Path) -> ServiceState | None:
    """Return the running service of a home folder, or None."""
    holder = ServiceLock(home).holder()
    state = read_state(home) if holder else None
    return state if state and state.pid == holder else None


def start(home: Path, options: ServiceOptions | None = None, *, persistent: bool) -> tuple[ServiceState, bool]:
    """Return the service of a home folder; if none is running, start it and wait until it answers.

    A running service keeps its own options, but becomes persistent on request.

    Args:
        home: The home folder.
        options: How a new service behaves.
        persistent: Whether it runs until it is stopped, rather than until the last lease on it ends.

    Returns:
        The service, and whether this call started it.

    Raises:
        LocalServiceError: Sessions must be isolated, and this machine cannot do it; or the small model is missing.
        LocalServiceNotStartedError: It could not start; the error has the last lines of its log.
    """
    with starting(home, persistent=persistent) as running:
        if running:
            return running, False
        options = options or ServiceOptions()
        if options.sandbox == "required":
            choose(options.sandbox, options.sandbox_network, home=home)  # raises here, where the caller sees it
        if options.model == "tiny":
            from .models.tiny import check_packages

            check_packages()  # likewise
        return _spawn(home, options, persistent), True


@contextmanager
def starting(home: Path, *, persistent: bool) -> Generator[ServiceState | None]:
    """Lock the home folder against other starters for the block, and yield a service that is already running.

    So two notebooks that start at the same time share one service.

    Args:
        home: The home folder, created if it does not exist.
        persistent: Whether a running service becomes persistent.
    """
    make_home(home)
    read_state(home)  # refuses another user's, before a service is started with it
    with _one_starter(home):
        running = _answering(home)
        if running and persistent and not running.persistent:
            ask(running, "POST", "/_loom/persist")
            running = find(home) or running
        yield running


def stop(home: Path) -> bool:
    """Stop the service of a home folder and every agent process; return False when none was running."""
    pid = ServiceLock(home).holder()
    if pid is None:
        return False
    state = find(home)
    if state is None and not has_damaged_state(home):
        return False  # a service that is starting
    if state:
        with suppress(LocalServiceError):
            ask(state, "POST", "/_loom/stop")
    for signal_number in (None, signal.SIGTERM, signal.SIGKILL) if state else (signal.SIGTERM, signal.SIGKILL):
        if signal_number is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        deadline = time.monotonic() + _STOPPED_WITHIN_S
        while time.monotonic() < deadline:
            if ServiceLock(home).holder() != pid:
                return True
            time.sleep(0.01)
    raise LocalServiceError("The local AgentCore does not stop", on=f"process {pid}", try_=f"kill -9 {pid}")


def isolation_sentence(home: Path | None = None) -> str:
    """Return the isolation that sessions of a new service would have on this machine, after testing it.

    Args:
        home: The service's home folder; None to skip its check.
    """
    return choose(home=home).sentence


def _answering(home: Path) -> ServiceState | None:
    """Return the running service once it has answered; None when there is none, or when it is about to end."""
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while running := find(home):
        try:
            ask(running, "GET", "/_loom/ping")
        except LocalServiceNotRunningError:
            # A killed process holds its lock for another moment.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return running
    return None


@contextmanager
def _one_starter(home: Path) -> Generator[None]:
    descriptor = os.open(home / "start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _spawn(home: Path, options: ServiceOptions, persistent: bool) -> ServiceState:
    log = _open_log(home)
    log_begin = os.fstat(log).st_size
    ready, notify = os.pipe()
    try:
        command = [*service_command(home), "--ready-fd", str(notify)] + (["--persistent"] if persistent else [])
        if not _fork_from_template(command, options, log, notify):
            _run(command, options, log, notify)
        os.close(notify)
        notify = -1
        from .sessions.processes import wait_readable  # the sessions' package loads asyncio, which `find` does not need

        is_readable = wait_readable(ready, within_s=_READY_WITHIN_S)
        if is_readable and os.read(ready, 16).startswith(b"ready") and (state := find(home)):
            return state
    finally:
        os.close(ready)
        os.close(log)
        if notify >= 0:
            os.close(notify)
    if holder := ServiceLock(home).holder():
        with suppress(ProcessLookupError):
            os.kill(holder, signal.SIGKILL)
    raise LocalServiceNotStartedError(
        "The local AgentCore could not be started", on=str(home), try_=_log_tail(home, log_begin)
    )


def _run(command: list[str], options: ServiceOptions, log: int, notify: int) -> None:
    """Run the command. Its process forks the service and exits, so that the caller has no zombie child."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        pass_fds=(notify,),
        env=service_variables(),
    ) as process:
        process.communicate(service_input(options))


def _fork_from_template(command: list[str], options: ServiceOptions, log: int, notify: int) -> bool:
    """Let the process at the socket `LOOM_SERVICE_TEMPLATE` fork the service that the command would start.

    It has already imported the service, which takes most of the start-up time; tests start hundreds of services.

    Args:
        command: The command of the service.
        options: How the service behaves.
        log: Descriptor of the service's log.
        notify: Descriptor on which the service reports that it is ready; its number in the command is replaced.

    Returns:
        False if there is no such process, or if the service would differ from one that the command starts.
    """
    if not (address := os.environ.get(SERVICE_TEMPLATE)):
        return False
    request = {
        "command": command,
        "folder": os.getcwd(),
        "input": service_input(options).decode(),
        "variables": service_variables(),
    }
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address)
            socket.send_fds(connection, [b"{"], [log, notify])
            connection.sendall(json.dumps(request).encode()[1:])
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(16) == b"forked"
    except OSError:
        return False


def service_command(home: Path) -> list[str]:
    """Return the command of a service."""
    return [sys.executable, "-P", "-m", "loomlib.local", "--home", str(home)]


def service_variables() -> dict[str, str]:
    """Return the environment of a service: an allow-list, with a `PYTHONPATH` that imports this same loomlib."""
    package_root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    return service_environment(os.environ) | {"PYTHONPATH": path, **_ONE_THREAD}


def service_input(options: ServiceOptions) -> bytes:
    """Return what a service reads from standard input: its options, and the settings of a real model.

    Either may hold a key, and other processes can read arguments and environments.
    """
    return json.dumps({"options": asdict(options), "model_settings": model_settings(os.environ)}).encode()


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
