"""The removal of folders that an agent may have written."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove_tree(folder: Path) -> None:
    """Remove a folder, as far as that is possible, however many levels it has.

    `shutil.rmtree` takes a stack frame and a descriptor for each level. Here inner folders are first moved up to
    `folder`. No link is followed.
    """
    with contextlib.suppress(OSError):
        top = os.open(folder, _FOLDER)
        try:
            names = os.listdir(top)
            while names:
                names += _remove_entry(top, names.pop())
        finally:
            os.close(top)
        os.rmdir(folder)


def _remove_entry(top: int, name: str) -> list[str]:
    """Remove an entry of a folder; return the names of its inner folders, which are now in that folder."""
    moved: list[str] = []
    try:
        inner = os.open(name, _FOLDER, dir_fd=top)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=top)
        return moved
    try:
        for below in os.listdir(inner):
            for remove in (os.unlink, os.rmdir):
                with contextlib.suppress(OSError):
                    remove(below, dir_fd=inner)
                    break
            else:
                new_name = secrets.token_hex(16)
                with contextlib.suppress(OSError):
                    os.rename(below, new_name, src_dir_fd=inner, dst_dir_fd=top)
                    moved.append(new_name)
    finally:
        os.close(inner)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=top)
    return moved
