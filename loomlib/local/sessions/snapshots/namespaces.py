"""Namespaces of a session that is forked in a sandbox: own network, own folder, own /tmp, no capability.

The process that it is forked from does not have the required capabilities. A new user namespace gives them to the
forked process for its other new namespaces only, and it drops them before the agent's code runs again. Files outside
the sandbox stay hidden: mounts that a user namespace inherits are locked.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import struct
import time

from .copying import copy_file, copy_folder
from .supervisor import drop_bounding_capabilities, drop_capabilities

_NEW_MOUNTS, _NEW_NETWORK = 0x00020000, 0x40000000  # unshare(2)
_NEW_USERS, _NEW_IPC, _NEW_UTS = 0x10000000, 0x08000000, 0x04000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18  # mount(2)
_DUMPABLE = 4  # prctl(2)
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # netdevice(7)
_PRIVATE_FOLDERS = (("/tmp", "mode=1777,size=512m"), ("/dev/shm", "mode=1777,size=64m"))  # noqa: S108 (as bubblewrap.py)

_UNSHARE_ATTEMPTS, _UNSHARE_PAUSE_S = 20, 0.005

_libc = ctypes.CDLL(None, use_errno=True)


def enter(folder: str, own_folder: str, *, home: str, own_network: bool) -> None:
    """Leave the namespaces of the process that this one was forked from.

    Args:
        folder: The path at which the session's folder is to appear.
        own_folder: The session's folder; its siblings' folders, beside it, disappear.
        home: The home folder.
        own_network: Whether the session has its own network.

    Raises:
        OSError: The kernel refuses.
    """
    user, group = os.getuid(), os.getgid()
    _unshare(_NEW_USERS | _NEW_MOUNTS | _NEW_IPC | _NEW_UTS | (_NEW_NETWORK if own_network else 0))
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(content)
    _mount("none", "/", "", _PRIVATE | _RECURSIVE)
    for path, options in (*_PRIVATE_FOLDERS, (home, "mode=1777,size=512m")):
        _mount_copy(path, options)
    _mount(own_folder, folder, "", _BIND | _RECURSIVE)
    _mount("none", os.path.dirname(own_folder), "tmpfs", _NO_SUID | _NO_DEVICES | _READ_ONLY, "size=4k")
    if own_network:
        _start_loopback()
    os.chdir(folder)
    _drop_capabilities()


def _unshare(namespaces: int) -> None:
    """Create namespaces; retry while a library's thread in the forked process is ending: the kernel then refuses."""
    for _ in range(_UNSHARE_ATTEMPTS - 1):
        if not _libc.unshare(namespaces):
            return
        if ctypes.get_errno() != errno.EINVAL:
            break
        time.sleep(_UNSHARE_PAUSE_S)
    _check(_libc.unshare(namespaces), "unshare")


def _mount_copy(path: str, options: str) -> None:
    """Mount an in-memory folder over another one, with that folder's files and the mounts below it."""
    mounted = {point: os.open(point, os.O_PATH) for point in _mount_points(path)}
    former = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _mount("none", path, "tmpfs", _NO_SUID | _NO_DEVICES, options)
        _copy(f"/proc/self/fd/{former}", path, set(mounted))
        for point, descriptor in mounted.items():
            # With what is mounted below it: the kernel does not let a user namespace uncover an inherited mount.
            _mount(f"/proc/self/fd/{descriptor}", point, "", _BIND | _RECURSIVE)
    finally:
        for descriptor in (former, *mounted.values()):
            os.close(descriptor)


def _mount_points(path: str) -> list[str]:
    """Return the uppermost paths below a folder at which something is mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        fields = [line.split(" ")[4] for line in file]
    # proc(5): blanks, tabs, line breaks and backslashes are written as octal numbers.
    points = {re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field) for field in fields}
    below = sorted(point for point in points if point.startswith(path + "/"))
    return [point for point in below if not any(point.startswith(upper + "/") for upper in below)]


def _copy(source: str, target: str, mounted: set[str]) -> None:
    """Copy a folder's content; for mount points, copy only the folders that lead to them."""
    for entry in os.scandir(source):
        place = f"{target}/{entry.name}"
        if place in mounted and not entry.is_dir():
            with open(place, "x"):
                pass
        elif place in mounted or any(point.startswith(place + "/") for point in mounted):
            os.mkdir(place)
            if place not in mounted:
                _copy(entry.path, place, mounted)
        elif entry.is_dir(follow_symlinks=False):
            copy_folder(entry.path, place)
        elif entry.is_symlink():
            shutil.copy2(entry.path, place, follow_symlinks=False)
        elif entry.is_file():
            copy_file(entry.path, place)


def _start_loopback() -> None:
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, _GET_FLAGS, request))[1]
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def _drop_capabilities() -> None:
    drop_bounding_capabilities()
    drop_capabilities()
    # Otherwise it could not read its own files in /proc. Other namespaces' processes may not read them.
    _check(_libc.prctl(_DUMPABLE, 1, 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(
        _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode()),
        f"mount {target}",
    )


def _check(result: int, operation: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{operation}: {os.strerror(number)}")
