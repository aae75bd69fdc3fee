"""Session storage: a folder for each session id of a version, next to the version's code.

It is kept when the session ends, and deleted with the version, as AWS's is reset by a new version.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..sandbox.removal import remove_tree

KEPT_FOR_S: Final = 14 * 86_400
"""How long session storage is kept while no session uses it (developer guide, "File system configurations")."""

_STORAGE = "storage"


def storage_of(files: Path, qualifier: str, session_id: str, paths: Sequence[str]) -> dict[str, Path]:
    """Return the folders of a session's storage by their mount paths; create them if they do not exist.

    Args:
        files: The folder of the version.
        qualifier: The endpoint's name.
        session_id: The runtime session id.
        paths: The mount paths.
    """
    if not paths:
        return {}
    digest = hashlib.sha256(f"{qualifier}\0{session_id}".encode()).hexdigest()[:32]
    own = files / _STORAGE / digest
    folders = {path: own / Path(path).name for path in paths}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    os.utime(own)
    return folders


def remove_expired(runtimes: Path) -> int:
    """Delete session storage whose last use is two weeks older than the latest use of any; return the number deleted.

    The latest use is the reference, because the machine's time may have been set forward meanwhile.

    Args:
        runtimes: Folder of all runtimes' versions.
    """
    used_s = {folder: folder.stat().st_mtime for folder in runtimes.glob(f"*/*/{_STORAGE}/*")}
    earliest_s = min(time.time(), max(used_s.values(), default=0.0)) - KEPT_FOR_S
    expired = [folder for folder, last_s in used_s.items() if last_s < earliest_s]
    for folder in expired:
        remove_tree(folder)
    return len(expired)
