"""Only one process runs a study at a time: a lease in the store, renewed while the study goes on."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from loomlib.errors import StoreError, StudyError

if TYPE_CHECKING:
    from loomlib.store import Lease, Store

_RENEW_S: Final = 8.0


class Held:
    """The study's lease, for a block; `renew()` is called while it goes on. `StudyError` names who holds it already."""

    def __init__(self, store: Store, study_id: str) -> None:
        self._store, self._study_id = store, study_id
        self._lease: Lease | None = None
        self._renewed = 0.0

    def __enter__(self) -> Self:
        try:
            self._lease = self._store.studies.acquire(self._study_id)
        except StoreError as error:
            raise StudyError(error.what, on=error.on, try_=error.try_) from error
        self._renewed = time.monotonic()
        return self

    def renew(self) -> None:
        """Prolong it now and then. `StoreError` when another process has taken it."""
        if self._lease is not None and time.monotonic() - self._renewed >= _RENEW_S:
            self._lease = self._store.studies.renew(self._lease)
            self._renewed = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self._lease is not None:
            with suppress(StoreError):  # it expires by itself
                self._store.studies.release(self._lease)
