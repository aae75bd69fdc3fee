"""Commands for bubblewrap: a view of this machine with the interpreter, the system's libraries and a few folders.

Anything that is not listed here is invisible to the agent: the user's home, the service's home, other sessions, other
processes. The mounts are passed to bubblewrap through a descriptor and not as arguments, which every process can read;
and bubblewrap itself runs with a clean environment, because a variable such as LD_PRELOAD, which a runtime may set for
its agent, must not take effect outside the sandbox.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HOME = "/home/agent"
"""The agent's home folder in the sandbox; empty when the session starts."""

TEMPORARY_BYTES = 512 * 2**20
"""Size of /tmp and of the home folder, which are in memory: AWS Lambda's default for /tmp; AgentCore documents none."""

_SHARED_MEMORY_BYTES = 64 * 2**20  # Docker's default for /dev/shm
_USER_ID = "1000"

_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "gai.conf", "host.conf", "hosts"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "pki"),
    *("protocols", "resolv.conf", "services", "ssl", "timezone"),
)
# Docker's lists of what a container must not read or change in /proc. bubblewrap covers what it cannot write to itself,
# which is not enough where the user is root: root's own files in /proc/sys stay writable without any capability.
_READ_ONLY_PROC = ("bus", "fs", "irq", "mtrr", "pressure", "sys", "sysrq-trigger")
_EMPTY_PROC = ("acpi", "asound", "scsi")
_NULL_PROC = ("kallsyms", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "timer_list", "timer_stats")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The part of this machine that a sandboxed process can see.

    Attributes:
        folder: The working folder, which is writable.
        read: Further files and folders that it may read, at the same paths.
        write: Further folders that it may write.
        mounts: Further folders that it may write, as `{path inside: folder}`.
        files: Further files, as `{path inside: content}`.
        own_network: Whether it has its own network namespace, which contains only its own loopback.
        may_nest: Whether it may create nested namespaces, as a process from which sessions are forked does.
    """

    folder: Path
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()
    mounts: Mapping[str, Path] = field(default_factory=dict[str, Path])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    own_network: bool = True
    may_nest: bool = False


_USERS = {
    "/etc/passwd": f"agent:x:{_USER_ID}:{_USER_ID}:agent:{HOME}:/bin/sh\n",
    "/etc/group": f"agent:x:{_USER_ID}:\n",
}


def isolating(
    program: str, view: View, environment: Mapping[str, str], command: Sequence[str]
) -> tuple[list[str], list[int]]:
    """Return the command that runs another one in the sandbox, and descriptors to pass on and then close.

    Args:
        program: The path of bubblewrap.
        view: The part of this machine that the command can see.
        environment: The command's variables.
        command: The program and its arguments.
    """
    words = [*_namespaces(view), *_mounts(view)]
    descriptors: list[int] = []
    for path, content in (_USERS | dict(view.files)).items():
        descriptors.append(_in_memory(content.encode()))
        words += ["--ro-bind-data", str(descriptors[-1]), path]
    words += ["--remount-ro", "/", "--chdir", str(view.folder), "--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    descriptors.append(_in_memory(b"".join(os.fsencode(word) + b"\0" for word in words)))
    return [program, "--args", str(descriptors[-1]), "--", *command], descriptors


def _in_memory(content: bytes) -> int:
    descriptor = os.memfd_create("loom-sandbox")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _namespaces(view: View) -> Iterator[str]:
    yield from ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    if not view.may_nest:
        yield "--disable-userns"
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
    yield from ("--uid", _USER_ID, "--gid", _USER_ID)
    if view.own_network:
        yield "--unshare-net"


def _mounts(view: View) -> Iterator[str]:
    for size, path in ((TEMPORARY_BYTES, "/tmp"), (TEMPORARY_BYTES, HOME)):  # noqa: S108 (the agent's own)
        yield from ("--perms", "1777", "--size", str(size), "--tmpfs", path)
    yield from _system()
    for path in (*interpreter_paths(), *view.read):
        yield from ("--ro-bind-try", str(path), str(path))
    for path in (view.folder, *view.write):
        yield from ("--bind", str(path), str(path))
    for inside, path in view.mounts.items():
        yield from ("--bind", str(path), inside)


@cache
def _system() -> tuple[str, ...]:
    """Return the mounts that are the same for all sessions: programs, libraries, configuration, /proc and /dev."""
    words: list[str] = ["--ro-bind", "/usr", "/usr"]
    for path in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")):
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    words += ["--proc", "/proc"]
    for name in _READ_ONLY_PROC:
        words += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for path in (Path("/proc") / name for name in _EMPTY_PROC):
        if path.is_dir():
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
    for path in (Path("/proc") / name for name in _NULL_PROC):
        if path.exists():
            words += ["--ro-bind", "/dev/null", str(path)]
    words += ["--dev", "/dev", "--perms", "1777", "--size", str(_SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108
    return tuple(words)


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """Return the files and folders that this interpreter and its installed packages consist of.

    An editable installation's source tree is not among them: AWS would not have it either, and it may be a folder with
    the user's own files.
    """
    paths: list[Path] = []
    for prefix in dict.fromkeys((sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)):
        if not prefix.startswith("/usr"):
            paths += [Path(prefix) / name for name in ("bin", "lib", "lib64", "share", "ssl", "pyvenv.cfg")]
    for entry in (*sys.path, *site.getsitepackages()):
        if Path(entry).name in ("site-packages", "dist-packages"):
            paths.append(Path(entry))
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        paths.append(link.parent)
    paths.append(Path(__file__).parents[1] / "sessions")  # the bootstrap
    return tuple(dict.fromkeys(path for path in paths if path.exists()))
