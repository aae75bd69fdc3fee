"""The location of a store: an open store, or an address that is opened when needed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from loomlib.settings import Settings

from .store import Store
from .tenancy import DEFAULT_TENANT


class StoreLocation:
    """A store that the caller keeps open, or an address that is opened only while it is used.

    Args:
        store: The store, or a database's address.
        tenant: The tenant of a store that is opened.
        user: The user whose rows it writes; empty if unknown.
    """

    def __init__(self, store: Store | str, *, tenant: str = DEFAULT_TENANT, user: str = "") -> None:
        self._store, self._tenant, self._user = store, tenant, user

    @contextmanager
    def open(self) -> Generator[Store, None, None]:
        """Open the store for the block."""
        if not isinstance(self._store, str):
            yield self._store
            return
        with Store.open(self._store, tenant=self._tenant, user=self._user) as store:
            yield store


def locate_store(store: Store | str | StoreLocation | None) -> StoreLocation:
    """Return the location of a store.

    Args:
        store: An open store, a database URL, the path of an SQLite file, or None for the database of the settings
            (`DATABASE_URL`, else the one in `LOOM_HOME`).
    """
    if isinstance(store, StoreLocation):
        return store
    if isinstance(store, Store):
        return StoreLocation(store)
    settings = Settings.load()
    url = settings.database_url if store is None else store if "://" in store else f"sqlite:///{store}"
    return StoreLocation(url, tenant=settings.tenant, user=settings.user)
