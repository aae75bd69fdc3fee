"""Files that are written for somebody: whole or not at all, and what the file system refuses is said in words."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..errors import LoomError


@contextmanager
def written(what: str, path: str | os.PathLike[str]) -> Generator[None]:
    """For the block that writes `path`: a folder that is not there, a full disk and the like are `LoomError`s."""
    try:
        yield
    except OSError as error:
        raise LoomError(
            f"{what} cannot be written ({error.strerror or error})",
            on=os.fspath(path),
            try_="a folder that is there, may be written to and has room",
        ) from error


@contextmanager
def whole_file(what: str, path: str | os.PathLike[str], *, private: bool = True) -> Generator[IO[str]]:
    """A text file to write that becomes `path` at the end of the block; when the block raises, `path` stays as it was.

    Each writer has a part of its own beside it, so of two that write one path at once the last to end wins, whole. A
    `private` one is its owner's alone; another has the rights of the file that it replaces, or of any new file.
    """
    target = Path(path)
    with written(what, target):
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
