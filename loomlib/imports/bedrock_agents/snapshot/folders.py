"""Write a snapshot as a folder of readable files, and read it."""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

from loomlib.errors import LoomError
from loomlib.json_values import as_list, as_mapping

from .digests import agent_digest, content_digest
from .encoding import SnapshotFormatError, decode_text
from .layout import agent_files, agent_from_files, json_bytes, read_json, to_bytes
from .readme import readme_text
from .value import AgentSnapshot

SNAPSHOT_FILE: Final = "snapshot.json"
_README: Final = "README.md"
_FORMAT: Final = 1
_LARGEST_FILE: Final = 20_000_000
_ABANDONED_S: Final = 3_600
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
"""Linux, renameat2(2)."""


def write_snapshot(snapshot: AgentSnapshot, folder: str | PathLike[str]) -> Path:
    """Write a snapshot as a folder, atomically.

    An existing snapshot is replaced, unless its files were changed or files were added to it.

    Args:
        snapshot: The snapshot.
        folder: The folder.

    Raises:
        LoomError: The folder contains other files, or cannot be written.
    """
    target = Path(folder).absolute()
    files = snapshot_files(snapshot)
    _check_replaceable(target)
    beside = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    _remove_abandoned(target)
    try:
        for name, content in files.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _replace(target, beside)
    except OSError as error:
        raise LoomError(f"The snapshot cannot be written: {error}", on=str(target), try_="another folder") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def snapshot_files(snapshot: AgentSnapshot) -> dict[str, bytes]:
    """Return the files of a snapshot by their paths within its folder.

    Args:
        snapshot: The snapshot.
    """
    files = dict(agent_files(snapshot.agent))
    files[_README] = to_bytes(readme_text(snapshot))
    agent = snapshot.agent
    about: dict[str, Any] = {
        "format": _FORMAT,
        "agent": {"id": agent.id, "name": agent.name, "version": agent.version, "alias": agent.alias_name},
        "region": snapshot.region,
        "is_immutable": snapshot.is_immutable,
        "digest": snapshot.digest,
        "notes": list(snapshot.notes),
        "files": {name: content_digest(files[name]) for name in sorted(files)},
    }
    return {**files, SNAPSHOT_FILE: json_bytes(about)}


def read_snapshot(folder: str | PathLike[str]) -> AgentSnapshot:
    """Read a snapshot that `write_snapshot` wrote.

    Args:
        folder: The folder.

    Raises:
        SnapshotFormatError: It is not a snapshot, or a file was changed or removed since it was written.
    """
    target = Path(folder).absolute()
    about = _about(target)
    if changed := changed_files(target):
        raise SnapshotFormatError(
            f"Files of the snapshot were changed or removed: {', '.join(changed[:5])}",
            on=str(target),
            try_="take the snapshot again, or generate the agent and edit its code instead",
        )
    digests = as_mapping(about.get("files"))

    def read(path: str) -> bytes:
        if path not in digests:  # only listed files are read
            raise SnapshotFormatError("A file of the snapshot is missing", on=path)
        return _content(target / path)

    agent = agent_from_files(read)
    digest = decode_text(about.get("digest"), "digest")
    if digest != agent_digest(agent):
        raise SnapshotFormatError("The snapshot's digest does not match its agent", on=str(target))
    return AgentSnapshot(
        agent=agent,
        region=decode_text(about.get("region"), "region"),
        is_immutable=about.get("is_immutable") is True,
        digest=digest,
        notes=tuple(decode_text(note, "notes") for note in as_list(about.get("notes"))),
    )


def changed_files(folder: str | PathLike[str]) -> list[str]:
    """Return the files of a snapshot that were changed or removed since it was written, sorted.

    Args:
        folder: The folder.

    Raises:
        SnapshotFormatError: It is not a snapshot.
    """
    target = Path(folder).absolute()
    expected: Mapping[str, Any] = as_mapping(_about(target).get("files"))
    return sorted(name for name, digest in expected.items() if _digest(target, name) != digest)


def _digest(folder: Path, name: str) -> str:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise SnapshotFormatError(f"The file {name[:100]!r} is outside the snapshot", on=str(folder))
    try:
        return content_digest(_content(folder / name))
    except SnapshotFormatError:
        return ""


def _content(path: Path) -> bytes:
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_FILE:
            raise SnapshotFormatError("A file of the snapshot is a link, or too large", on=str(path))
        return path.read_bytes()
    except OSError as error:
        raise SnapshotFormatError(f"A file of the snapshot cannot be read: {error}", on=str(path)) from error


def _about(folder: Path) -> dict[str, Any]:
    if not (folder / SNAPSHOT_FILE).is_file():
        raise SnapshotFormatError(
            "The folder is not a snapshot of an agent", on=str(folder), try_="loom bedrock-agents snapshot NAME FOLDER"
        )
    about = read_json(_content(folder / SNAPSHOT_FILE), SNAPSHOT_FILE)
    if about.get("format") != _FORMAT:
        format_name = str(about.get("format"))[:20]
        raise SnapshotFormatError(
            f"The snapshot has the format {format_name}; this release reads {_FORMAT}", on=str(folder)
        )
    return about


def _check_replaceable(target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir() or target.is_symlink():
        raise LoomError("The path of the folder is a file or a link", on=str(target), try_="another folder")
    files = (path for path in target.rglob("*") if not path.is_dir() or path.is_symlink())
    present = {path.relative_to(target).as_posix() for path in files}
    if not present:
        return
    snapshot_files = as_mapping(_about(target).get("files"))
    foreign = sorted(present - snapshot_files.keys() - {SNAPSHOT_FILE})
    if touched := foreign or changed_files(target):
        raise LoomError(
            f"The folder contains files that the snapshot would overwrite or remove: {', '.join(touched[:5])}",
            on=str(target),
            try_="move them, or write to another folder",
        )


def _remove_abandoned(target: Path) -> None:
    """Remove the leftovers of killed writers beside a folder, once no writer can still be active."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}(?:\.former)?")
    for path in target.parent.glob(".*") if target.parent.is_dir() else ():
        if name.fullmatch(path.name) and time.time() - path.lstat().st_mtime > _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)


def _replace(target: Path, beside: Path) -> None:
    """Replace `target` with `beside`, atomically if the system supports it; `beside` is then the old folder."""
    if not target.exists():
        beside.rename(target)
    elif not _exchange(target, beside):
        former = beside.with_name(f"{beside.name}.former")
        target.rename(former)
        try:
            beside.rename(target)
        except OSError:
            former.rename(target)
            raise
        former.rename(beside)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two paths atomically; return False if the system or the file system does not support it."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    return rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
