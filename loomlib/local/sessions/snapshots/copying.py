"""Copies the files of a frozen process for a session that is forked from it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator

_MOST_BYTES = 1 << 30  # sendfile(2) sends two GiB at most


def copy_folder(source: str | os.PathLike[str], target: str | os.PathLike[str], *, exists: bool = False) -> None:
    """Copy a folder with its links and the holes in its files, so that the copy takes no more space.

    Sockets, pipes and devices are left out: without the process that made them they have no content.

    Args:
        source: The folder.
        target: The path of the copy.
        exists: Whether the folder `target` exists already.

    Raises:
        OSError: A file cannot be copied, or the folder has too many levels.
    """
    copies: dict[tuple[int, int], str] = {}

    def copy(file: str, copy_path: str) -> None:
        status = os.lstat(file)
        if not stat.S_ISREG(status.st_mode):
            return
        first = copy_path
        if status.st_nlink > 1:
            first = copies.setdefault((status.st_dev, status.st_ino), copy_path)
        if first == copy_path:
            copy_file(file, copy_path)
        else:
            os.link(first, copy_path)

    try:
        shutil.copytree(source, target, symlinks=True, copy_function=copy, dirs_exist_ok=exists)
    except RecursionError:
        raise OSError(f"{os.fspath(source)} has too many levels of folders to be copied") from None


def copy_file(source: str, target: str) -> None:
    """Copy a file with its holes."""
    status = os.stat(source)
    if status.st_blocks * 512 >= status.st_size:
        shutil.copy2(source, target)
        return
    with open(source, "rb") as reading, open(target, "wb") as writing:
        for begin, end in _pieces(reading.fileno(), status.st_size):
            os.lseek(writing.fileno(), begin, os.SEEK_SET)
            while begin < end:
                sent = os.sendfile(writing.fileno(), reading.fileno(), begin, min(end - begin, _MOST_BYTES))
                if not sent:  # the file has become shorter
                    break
                begin += sent
        writing.truncate(status.st_size)
    shutil.copystat(source, target)


def _pieces(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the beginnings and ends of the pieces of a file that are not holes."""
    end = 0
    while end < size:
        try:
            begin = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as failure:
            if failure.errno != errno.ENXIO:  # there is a hole up to the end
                raise
            return
        end = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, end
