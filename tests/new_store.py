"""New stores on SQLite: copies of an empty one.

The migrations of a new database take a quarter of a second of processor time, and `tests/unit/test_store_schema.py`
tests them; a copy takes a few milliseconds.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from loomlib.store import Store


@functools.cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loom.db"
        Store.open(f"sqlite:///{file}").close()  # which leaves no write-ahead log
        return file.read_bytes()


def new_store(folder: Path) -> Store:
    """Open a new store in a test's folder, in `loom.db`."""
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "loom.db"
    file.touch(mode=0o600)
    file.write_bytes(_empty())
    return Store.open(f"sqlite:///{file}")
