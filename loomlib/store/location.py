"""Where a run is kept: an open store, or the address of one that is opened when it is needed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loomlib.store import Store


class StorePlace:
    """A store that somebody else holds open, or an address: then it is open only while it is used."""

    def __init__(self, store: Store | str) -> None:
        self._store = store

    @contextmanager
    def open(self) -> Generator[Store, None, None]:
        """The store for the block."""
        if not isinstance(self._store, str):
            yield self._store
            return
        from loomlib.store import Store

        with Store.open(self._store) as store:
            yield store


def place_of(store: Store | str | StorePlace | None) -> StorePlace:
    """Where this means; None is the database of the settings (`DATABASE_URL`, else `LOOM_HOME`)."""
    if isinstance(store, StorePlace):
        return store
    if store is None:
        from loomlib.settings import Settings

        return StorePlace(Settings.load().database_url)
    if isinstance(store, str) and "://" not in store:
        return StorePlace(f"sqlite:///{store}")
    return StorePlace(store)
