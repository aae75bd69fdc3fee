"""Where a store is: an open store, or an address that is opened when needed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from loomlib.settings import Settings

from .store import Store


class StoreLocation:
    """A store that the caller keeps open, or an address that is opened only while it is used."""

    def __init__(self, store: Store | str) -> None:
        self._store = store

    @contextmanager
    def open(self) -> Generator[Store, None, None]:
        """Open the store for the block."""
        if not isinstance(self._store, str):
            yield self._store
            return
        with Store.open(self._store) as store:
            yield store


def locate_store(store: Store | str | StoreLocation | None) -> StoreLocation:
    """Return where a store is.

    Args:
        store: An open store, a database URL, the path of an SQLite file, or None for the database of the settings
            (`DATABASE_URL`, else the one in `LOOM_HOME`).
    """
    if isinstance(store, StoreLocation):
        return store
    if store is None:
        return StoreLocation(Settings.load().database_url)
    if isinstance(store, str) and "://" not in store:
        return StoreLocation(f"sqlite:///{store}")
    return StoreLocation(store)
