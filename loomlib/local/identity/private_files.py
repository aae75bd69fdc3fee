"""Files with keys, which only their user can read."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(file: Path, content: bytes) -> None:
    """Write a file with mode 0600, complete or not at all."""
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
