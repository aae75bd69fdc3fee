"""Atomic file writes, with errors of the file system as `LoomError`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import LoomError


@contextmanager
def file_errors(description: str, path: str | os.PathLike[str]) -> Generator[None]:
    """Translate file system errors while `path` is written (missing folder, full disk) into `LoomError`.

    Args:
        description: What is written, as the error names it: "The export".
        path: The file.
    """
    try:
        yield
    except OSError as error:
        raise LoomError(
            f"{description} cannot be written ({error.strerror or error})",
            on=os.fspath(path),
            try_="a folder that exists, is writable and has free space",
        ) from error


@contextmanager
def whole_file(description: str, path: str | os.PathLike[str], *, private: bool = True) -> Generator[IO[str]]:
    """Open a text file that replaces `path` when the block ends; an exception leaves `path` unchanged.

    Each writer has a temporary file of its own next to it: of two that write one path at once, the last to end wins.

    Args:
        description: What is written, as an error names it.
        path: The file.
        private: Whether only its owner may read the file; otherwise it has the permissions of the file that it
            replaces, or of any new file.
    """
    target = Path(path)
    with file_errors(description, target):
        descriptor, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if not private:
                os.chmod(part, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
