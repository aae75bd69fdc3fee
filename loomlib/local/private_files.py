"""Files with keys, which only their user can read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_private(file: Path, content: bytes) -> None:
    """Write a file with mode 0600 atomically, even if others write it at the same time."""
    descriptor, name = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)  # with mode 0600
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
