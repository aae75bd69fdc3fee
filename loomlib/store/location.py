"""Location of a store: an open one, or an address that is opened while it is used."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loomlib.store import Store


class StorePlace:
    """A store that is open already, or the address of one that is opened only while it is used."""

    def __init__(self, store: Store | str) -> None:
        self._store = store

    @contextmanager
    def open(self) -> Generator[Store, None, None]:
        """Open the store for the block."""
        if not isinstance(self._store, str):
            yield self._store
            return
        from loomlib.store import Store

        with Store.open(self._store) as store:
            yield store


def place_of(store: Store | str | StorePlace | None) -> StorePlace:
    """Return the location of a store, an address or a SQLite file; None is the database of the settings."""
    if isinstance(store, StorePlace):
        return store
    if store is None:
        from loomlib.settings import Settings

        return StorePlace(Settings.load().database_url)
    if isinstance(store, str) and "://" not in store:
        return StorePlace(f"sqlite:///{store}")
    return StorePlace(store)
