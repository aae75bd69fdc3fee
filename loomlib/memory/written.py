"""Files that are written for somebody: what the file system refuses is said in words."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

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
