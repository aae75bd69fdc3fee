"""Unprivileged user ids for agents, where the service runs as root and bubblewrap cannot be used.

Each session gets a unique id, and its files are handed over to that id. A session's first process, the
supervisor, keeps running as root and runs none of the agent's code; the child that it forks drops all privileges before
it becomes the agent.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import os
import pwd
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from .bubblewrap import interpreter_paths
from .removal import remove_tree

IDS = range(50_000, 60_000)
"""The ids of agents: below 65,536, which containers usually have, and outside the ranges of accounts on Debian, Fedora
and macOS and of systemd's dynamic users."""

_LOCKS = Path("/run/loom-user-ids")  # a byte of it is locked for each id that a service uses
_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 (their files are removed, not read)
_SUPERVISOR = Path(__file__).parents[1] / "sessions" / "snapshots" / "supervisor.py"
_TRIES = 200
_TRIAL_WITHIN_S = 20.0
_ENDS_WITHIN_S = 10.0
_TRIAL = """
import os, sys
for path in sys.argv[1:]:
    if not os.access(path, os.X_OK if path.endswith("/") else os.R_OK):
        sys.exit(print(path))
"""


def why_not(home: Path | None) -> str:
    """Return why agents of this service, which is root's, cannot run under another user id; empty if they can.

    Args:
        home: The service's home folder, which need not exist; None to leave it out.
    """
    paths = [str(path) for path in interpreter_paths()]
    if home is not None:
        above = next(folder for folder in home.absolute().parents if folder.exists())
        paths.append(os.path.join(above, ""))
    try:
        user = take()
    except OSError as error:
        return f"another user id cannot be used: {error}"
    try:
        with tempfile.TemporaryDirectory(prefix="loom-probe-") as folder:
            os.chown(folder, user, user)
        tried = subprocess.run(
            [sys.executable, "-I", "-c", _TRIAL, *paths],
            user=user,
            group=user,
            extra_groups=(),
            env=supervisor_variables(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TRIAL_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        if isinstance(error, OSError) and error.errno == errno.EACCES:
            return _unreadable(sys.executable)
        words = getattr(error, "strerror", None) or error
        return f"another user id cannot be used; this requires CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID: {words}"
    finally:
        release(user)
    if closed := tried.stdout.strip():
        return _unreadable(closed)
    if tried.returncode:
        words = tried.stderr.strip().splitlines()
        return f"another user id cannot be used: {words[-1] if words else f'exit code {tried.returncode}'}"
    return ""


def _unreadable(path: str) -> str:
    """Return a sentence that names the folder that closes a path to other users, and the remedy."""
    start = f"another user id cannot be used, because it could not read {path}"
    if (folder := _closed(Path(path))) is not None:
        return (
            f"{start}: the folder {folder} is mode {folder.stat().st_mode & 0o7777:04o}; install the environment and "
            f"name a home (LOOM_HOME) outside of it, or let other users pass through it: chmod o+x {folder}"
        )
    return f"{start}; let other users read it: chmod -R o+rX {path}"


def _closed(path: Path) -> Path | None:
    """Return the first folder on a path that other users cannot pass through, if there is one."""
    for way in (path, path.resolve()):
        for folder in (*reversed(way.parents), way):
            if folder.is_dir() and not folder.stat().st_mode & 0o001:
                return folder
    return None


def _check_passable(interpreter: Path) -> None:
    if (folder := _closed(interpreter)) is not None:
        raise PermissionError(
            f"its interpreter {interpreter} cannot be read by another user id: {folder} is closed to other users"
        )


def supervising(
    descriptors: Sequence[int],
    command: Sequence[str],
    user: int = 0,
    variables: int = -1,
    mounts: Mapping[str, Path] | None = None,
) -> list[str]:
    """Return the command that runs another one below a supervisor (see `supervisor.py`).

    Args:
        descriptors: The command's descriptors.
        command: The program and its arguments.
        user: The user id that the command gets; 0 for the service's own.
        variables: The descriptor of its variables, if it gets an id.
        mounts: Folders that it then finds at other paths, as `{path: folder}`.
    """
    own = ",".join(map(str, descriptors)) or "-"
    runs = [sys.executable, str(user), str(variables)] if user else [command[0], "-", "-"]
    pairs = [str(word) for pair in (mounts or {}).items() for word in pair]
    bound = [str(len(pairs) // 2), *pairs]
    return [runs[0], "-I", "-S", str(_SUPERVISOR), own, *runs[1:], *bound, *command]


@cache
def can_mount() -> bool:
    """Return whether this service may mount folders at other paths for an agent, which requires CAP_SYS_ADMIN."""
    user = take()
    variables = in_memory({})
    try:
        with tempfile.TemporaryDirectory(prefix="loom-probe-") as folder:
            trial = supervising((), ["/bin/sh", "-c", "exit 0"], user, variables, {"/mnt/loom-probe": Path(folder)})
            return not subprocess.run(
                trial,
                pass_fds=[variables],
                env=supervisor_variables(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIAL_WITHIN_S,
                check=False,
            ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        os.close(variables)
        release(user)


def supervisor_variables() -> dict[str, str]:
    """Return the variables of a process that is still root's: nothing of an agent's, such as LD_PRELOAD."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def in_memory(environment: Mapping[str, str]) -> int:
    """Return a descriptor with variables, separated by NUL, which do not reach the process that is still root's."""
    descriptor = os.memfd_create("loom-variables")
    os.write(descriptor, b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items()))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def take_user(home: Path, folder: Path, read: Sequence[Path]) -> tuple[int, Path]:
    """Return an unused id, with a home folder for it, and let it use a session's files.

    Args:
        home: The service's home folder.
        folder: The session's working folder, which is handed over.
        read: Files and folders that the session reads; those in the service's home folder are made readable for agents.

    Raises:
        OSError: There is no id, or it cannot use the interpreter, which comes first in `read`.
    """
    user = take()
    try:
        _check_passable(read[0])
        open_way(home, folder.parent)
        # A package has no links: a link here is the service's own, to a part of the package too large to copy.
        linked = [Path(entry.path).resolve() for entry in os.scandir(folder) if entry.is_symlink()]
        installed = [path for path in read[1:] if path.is_relative_to(home / "environments") or path.is_file()]
        for path in (*linked, *installed):
            open_to_agents(home, path)
        hand_over(folder, user, former=os.geteuid())
        return user, make_home(folder, user)
    except BaseException:
        release(user)
        raise


def with_home(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return an agent's variables with a home folder and a temporary folder of its own.

    Args:
        environment: Its variables; what its runtime sets itself stays.
        home: The folder.
    """
    own = {"HOME": str(home), "TMPDIR": str(home / "tmp"), "USER": "agent", "LOGNAME": "agent"}
    own = {name: value for name, value in own.items() if environment.get(name) == os.environ.get(name)}
    return {**environment, **own}


def make_folders(folder: Path, user: int) -> Path:
    """Make an empty working folder and a home folder for a session; return the latter."""
    open_way(folder.parent, folder.parent)
    folder.mkdir()
    hand_over(folder, user, former=os.geteuid())
    return make_home(folder, user)


def make_home(folder: Path, user: int) -> Path:
    """Make the home folder of a session next to its working folder, and return it."""
    home = home_of(folder)
    (home / "tmp").mkdir(parents=True)
    hand_over(home, user, former=os.geteuid())
    return home


def home_of(folder: Path) -> Path:
    """Return the home folder that belongs to a session's working folder."""
    return folder.with_name(f"{folder.name}.home")


def hand_over(folder: Path, user: int, *, former: int) -> None:
    """Give a folder and what is in it to a user; what is not the former user's stays as it is, such as hard links."""
    for _, folders, files, descriptor in os.fwalk(folder, topdown=False):  # until the last step it is out of reach
        for name in (*folders, *files, "."):
            if os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_uid == former:
                os.chown(name, user, user, dir_fd=descriptor, follow_symlinks=False)


def open_way(home: Path, folder: Path) -> None:
    """Let agents pass through the home folder to a folder in it; they cannot list what they pass through."""
    for passed in (folder, *folder.parents):
        if passed.is_relative_to(home) and not (mode := passed.stat().st_mode) & 0o001:
            passed.chmod(mode & 0o7777 | 0o011)


def open_to_agents(home: Path, path: Path) -> None:
    """Let agents read the files that the service created for them in its home folder; other paths are unchanged.

    Links are not followed, and a file with a second name, which may be somebody else's, stays closed.
    """
    if not path.is_relative_to(home) or path.is_symlink() or not path.exists() or path.stat().st_mode & 0o004:
        return
    open_way(home, path.parent)
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            _open_file(os.path.join(folder, name))
        os.chmod(folder, 0o755)  # noqa: S103 (the uppermost comes last: an interrupted pass is repeated)
    if path.is_file():
        _open_file(os.fspath(path))


def _open_file(path: str) -> None:
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        os.chmod(path, 0o755 if status.st_mode & 0o100 else 0o644)


def take() -> int:
    """Return an id that no account, no process and no other service has, until `end` or `release`.

    Raises:
        OSError: No id is free, or this service cannot reserve one.
    """
    used = set(_process_owners())
    for user in random.sample(IDS, _TRIES):
        if user not in used and not _has_account(user) and _lock(user):
            return user
    raise OSError(f"none of {_TRIES} user ids from {IDS.start} to {IDS.stop - 1} is unused")


def release(user: int) -> None:
    """Give back an id that no process has."""
    _taken.discard(user)
    fcntl.lockf(_locks(), fcntl.LOCK_UN, 1, user)


def end(user: int) -> None:
    """Kill every process of an id, remove the files that it left in folders of all users, and give the id back."""
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while (pids := list(_processes(user))) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    for folder in _SHARED_FOLDERS:
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(folder)):
                if entry.stat(follow_symlinks=False).st_uid == user:
                    _remove(entry)
    if not pids:
        release(user)  # otherwise it stays reserved for as long as this service runs


def end_leftovers(user: int) -> None:
    """Do the same for an id of a service that was killed, unless another service has taken it since."""
    if user in IDS and user not in _taken and _lock(user):
        end(user)


def _remove(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        remove_tree(Path(entry.path))
    else:
        os.unlink(entry.path)


_taken: set[int] = set()


def _lock(user: int) -> bool:
    if user in _taken:
        return False
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, user)
    except (BlockingIOError, PermissionError):
        return False
    _taken.add(user)
    return True


@cache
def _locks() -> int:
    """Return the descriptor of the file of locks, which must stay open: closing another one would free them all."""
    return os.open(_LOCKS, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _has_account(user: int) -> bool:
    for find in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            find(user)
            return True
    return False


def _process_owners() -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield entry.stat().st_uid


def _processes(user: int) -> Iterator[int]:
    """Yield the processes of an id, those too whose folder in /proc is root's because they cannot be dumped."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{name}/status").read_text("utf-8", "replace").splitlines():
                if line.startswith("State:") and line.split()[1] in "ZX":
                    break
                if line.startswith("Uid:"):
                    if str(user) in line.split()[1:]:
                        yield int(name)
                    break
