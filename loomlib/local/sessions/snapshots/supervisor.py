"""The parent of an agent's process without bubblewrap: it adopts the agent's descendants and ends all of them.

`python -I -S supervisor.py DESCRIPTORS USER VARIABLES MOUNTS COMMAND…` runs the command and ends with its status. When
the command has ended, or on SIGTERM, or when the service has ended, it kills every process that the command left,
whatever its session, group or environment. It imports nothing but the standard library.

The descriptors, separated by commas, are the command's and are closed here. With a user id the command runs as that
user without privileges, with the variables read from the descriptor VARIABLES; this process continues to run as root;
`-` for USER or VARIABLES keeps this process's own. MOUNTS is the number of pairs that follow, of a path below /mnt and
the folder that the user finds there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import sys
import time

# prctl(2)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_DROP_BOUNDING, _NO_NEW_PRIVILEGES = 24, 38
_CAPABILITY_VERSION = 0x20080522
_NEW_MOUNTS = 0x00020000  # unshare(2)
_BIND, _RECURSIVE, _PRIVATE, _NO_SUID, _NO_DEVICES = 4096, 16384, 1 << 18, 2, 4  # mount(2)
_MOUNTS = "/mnt"
SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}


def supervise(
    descriptors: list[int], command: list[str], user: int = 0, variables: int = -1, mounts: dict[str, str] | None = None
) -> int:
    """Run a command, end everything that it started, and return its exit code, or 128 plus its signal number.

    Args:
        descriptors: The command's descriptors.
        command: The program and its arguments.
        user: The user id that it runs under; 0 for this process's own.
        variables: A descriptor with its variables, separated by NUL; -1 for this process's own.
        mounts: Folders that appear at other paths, as `{path: folder}`.
    """
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    agent = os.fork()
    if agent == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.setsid()
        environment = dict(os.environ)
        if user:
            with os.fdopen(variables, "rb") as file:
                pairs = [os.fsdecode(pair).partition("=") for pair in file.read().split(b"\0") if pair]
            environment = {name: value for name, _, value in pairs}
            if mounts:
                bind(mounts)
            become(user)
        os.execve(command[0], command, environment)  # noqa: S606 (the service's own command)
    for descriptor in (*descriptors, *([variables] if user else [])):
        os.close(descriptor)
    return follow(agent)


def become(user: int) -> None:
    """Become another user for good: without groups, without a capability, and without a way to gain one."""
    os.setgroups([])
    os.setresgid(user, user, user)
    drop_bounding_capabilities()
    os.setresuid(user, user, user)
    drop_capabilities()


def bind(mounts: dict[str, str]) -> None:
    """Mount folders below /mnt, which is otherwise empty, for this process and its children.

    Raises:
        OSError: The kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int) -> None:
        if result:
            number = ctypes.get_errno()
            raise OSError(number, f"session storage cannot be mounted: {os.strerror(number)}")

    def mount(source: str, target: str, kind: str, flags: int) -> None:
        check(libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), b"mode=0755"))

    check(libc.unshare(_NEW_MOUNTS))
    mount("none", "/", "", _RECURSIVE | _PRIVATE)
    mount("none", _MOUNTS, "tmpfs", _NO_SUID | _NO_DEVICES)
    for path, folder in mounts.items():
        os.mkdir(path)
        mount(folder, path, "", _BIND)


def drop_bounding_capabilities() -> None:
    """Give up all capabilities for the programs that this process starts."""
    prctl = ctypes.CDLL(None).prctl
    for capability in range(64):
        if prctl(_DROP_BOUNDING, capability, 0, 0, 0):
            break  # the last one that this kernel has


def drop_capabilities() -> None:
    """Give up all capabilities of this process, and the ways to gain one.

    Raises:
        OSError: The kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24)
    if libc.capset(header, none) or libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"capabilities: {os.strerror(number)}")


def follow(agent: int) -> int:
    """Wait for a child's end, end everything that it started, and return its exit code, or 128 plus its signal number.

    The signals `SIGNALS` must be blocked; each of them but SIGCHLD ends the child.
    """
    status: int | None = None
    while status is None:
        if signal.sigwait(SIGNALS) != signal.SIGCHLD:
            break
        status = _reap(agent)
    while children := _descendants():
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended = _reap(agent)
        status = ended if status is None else status
        time.sleep(0.001)
    if status is None:
        return 128 + signal.SIGKILL
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _reap(agent: int) -> int | None:
    """Reap all children that have ended; return the agent's status if it is among them."""
    status = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == agent:
                status = ended
    return status


def _descendants() -> list[int]:
    pids: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                    waiting += map(int, file.read().split())
        pids.append(pid)
    return pids[1:]


if __name__ == "__main__":
    own, user, variables, count = (word.replace("-", "") for word in sys.argv[1:5])
    begin = 5 + 2 * int(count or 0)
    pairs = dict(zip(sys.argv[5:begin:2], sys.argv[6:begin:2], strict=True))
    own_descriptors = [int(word) for word in own.split(",") if word]
    sys.exit(supervise(own_descriptors, sys.argv[begin:], int(user or 0), int(variables or -1), pairs))
