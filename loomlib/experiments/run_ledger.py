"""A stored run of an experiment, independent of its tables: leased by one process at a time, resumed, interrupted."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from loomlib.errors import LoomError, StoreError
from loomlib.jobs import held_lease

from .conditions import StudyConditions
from .design import differing_settings
from .watch import ConditionsRecord, recorded_machine

if TYPE_CHECKING:
    from loomlib.store import EvalRunRow, Store, StudyRow
    from loomlib.store.stored_runs import StoredRuns

RUNNING_STATE = "running"

Row = TypeVar("Row", "StudyRow", "EvalRunRow")


class RunLedger(ABC, Generic[Row]):
    """The stored state of one run of an experiment. Each kind of experiment adds the storage of its units.

    Args:
        store: The store with the run.
        id: The run.
    """

    noun: ClassVar[str]
    """The name of a run in messages."""
    error: ClassVar[type[LoomError]]
    """The error of this kind of experiment."""
    first_run: ClassVar[str]
    """How to create a first run, as the advice of an error."""
    details: ClassVar[str]
    """Field of the row with JSON values that are known during the run, such as the machine's conditions."""

    def __init__(self, store: Store, id: str) -> None:
        self.store, self.id = store, id
        self._lost: Sequence[StoreError] = ()

    @property
    @abstractmethod
    def runs(self) -> StoredRuns[Row]:
        """The stored runs of this kind, with their leases."""

    @property
    def stored(self) -> Row:
        """The stored run.

        Raises:
            LoomError: There is no run with this id; the message lists the newest ones.
        """
        row = self.runs.get(self.id)
        if row is None:
            newest_ids = ", ".join(row.id for row in self.runs.newest(5))
            raise self.error(
                f"No such {self.noun} in the store",
                on=self.id[:80],
                try_=f"one of {newest_ids}" if newest_ids else self.first_run,
            )
        return row

    def check_same(self, stored: Mapping[str, Any], requested: Mapping[str, Any], *, advice: str) -> None:
        """Raise an error when the settings of the stored run differ from those of the run that resumes it.

        Args:
            stored: The stored settings by name.
            requested: The settings to resume with.
            advice: What to do instead, for the error.
        """
        if differing := differing_settings(stored, requested):
            raise self.error(f"The stored {self.noun} differs in its {', '.join(differing)}", on=self.id, try_=advice)

    @property
    def conditions(self) -> StudyConditions:
        """The machine's conditions in every part of the run so far."""
        return StudyConditions.read(self._details().get("machine"))

    def save(self, state: str, *, finished: bool = False, **details: Any) -> None:
        """Store the run's state, and merge `details` into its details.

        Args:
            state: Such as "running", "interrupted" or "complete".
            finished: Whether to store the time as the run's end.
            details: JSON-ready values.
        """
        end = {"finished_at": datetime.now(UTC)} if finished else {}
        self.runs.save(self.id, state=state, **end, **{self.details: {**self._details(), **details}})

    def interrupt(self, error: BaseException) -> None:
        """Store that the run was interrupted by an error or by the user."""
        self.save("interrupted")

    @asynccontextmanager
    async def leased(self) -> AsyncGenerator[None]:
        """Hold the lease on the run for the block; store the interruption when the block raises while it is running.

        Nothing is stored when the lease was lost: the run then belongs to another process.
        """
        from loomlib.store import LEASE_S

        async with held_lease(self.runs, self.id, renew_every_s=LEASE_S / 3, refused=self.error) as self._lost:
            try:
                yield
                self.check_lease()
            except BaseException as error:
                with suppress(StoreError):  # a full disk cannot store the interruption either; the rows suffice
                    self.check_lease()
                    row = self.runs.get(self.id)
                    if row is not None and row.state == RUNNING_STATE:
                        self.interrupt(error)
                raise

    def check_lease(self) -> None:
        """Raise `StoreError` when the lease was lost; call it before storing the end of the run."""
        if self._lost:
            raise self._lost[0]

    def recorded_machine(self, *, is_measured: bool = True) -> AbstractAsyncContextManager[ConditionsRecord]:
        """Sample the machine during the block, and store its conditions with those of earlier parts of the run.

        Args:
            is_measured: Whether anything is measured in the block; if not, its conditions are not stored.
        """

        def save(conditions: StudyConditions) -> None:
            if is_measured:
                self.check_lease()
                self.save(self.stored.state, machine=conditions.stored())

        return recorded_machine(self.conditions, save)

    def _details(self) -> Mapping[str, Any]:
        return getattr(self.stored, self.details)


def new_id(kind: str) -> str:
    """Return the id of a new run: its kind, the time and a random part.

    Args:
        kind: Kind of experiment, such as "latency".
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
