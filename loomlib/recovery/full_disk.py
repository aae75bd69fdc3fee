"""A full disk: found in the errors of the file system, of copied folders and of SQLite."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

DISK_IS_FULL: Final = "The local AgentCore's disk is full"
"""How the local AgentCore begins the message of a request that failed for lack of space."""

# For the user, a file-size limit or a quota has the same effect as a full disk.
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_TEXTS: Final = tuple(f"[Errno {number}]" for number in sorted(_FULL))
# SQLite reports FULL for ENOSPC only; a file-size limit or a quota is a failed write to it.
_FULL_SQLITE: Final = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_TRUNCATE"}


def is_full_disk(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, says that a disk, a quota or a file-size limit is full."""
    seen_ids: set[int] = set()
    while error is not None and id(error) not in seen_ids:
        seen_ids.add(id(error))
        if isinstance(error, shutil.Error):
            # `copytree` collects (source, target, reason), the reason as a text.
            if any(text in str(error) for text in _FULL_TEXTS):
                return True
        elif isinstance(error, OSError) and error.errno in _FULL:
            return True
        if getattr(error, "sqlite_errorname", "") in _FULL_SQLITE:
            return True
        error = getattr(error, "orig", None) or error.__cause__
    return False


def full_disk_message(home: Path) -> str:
    """Return the message of a request that failed because the disk of a home folder is full."""
    try:
        free_space = f", {shutil.disk_usage(home).free / 1e6:.1f} MB free"
    except OSError:
        free_space = ""
    return (
        f"{DISK_IS_FULL}, or a quota or a file-size limit is reached: it could not write to its home folder "
        f"({home}{free_space}). Free some space and call again; what was acknowledged before is kept"
    )
