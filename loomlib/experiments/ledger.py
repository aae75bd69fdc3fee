"""A study in the store: planned before its first unit, written unit by unit, read back after the process was killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError

from .run_ledger import RunLedger
from .units import DONE, FAILED, RUNNING, MeasuredUnit, UnitOutcome

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow, PlannedMeasurement, StudyRow
    from loomlib.store.studies import Studies


class StudyLedger(RunLedger["StudyRow"]):
    """The rows of one study. Every method is one short transaction."""

    noun = "study"
    error = StudyError
    first_run = "run a study first"
    details = "environment"

    @property
    def study_id(self) -> str:
        """The study's id."""
        return self.id

    @property
    def runs(self) -> Studies:
        """The stored studies."""
        return self.store.studies

    def open(self, study: StudyRow, plan: Sequence[PlannedMeasurement], *, resume: str) -> StudyRow:
        """Return the stored study; store it with its whole plan when it is new.

        Args:
            study: The requested study.
            plan: Its units in order.
            resume: Python that resumes a stored study, for the error's advice.

        Raises:
            StudyError: The stored study with this id has a different design.
        """
        stored = self.store.studies.get(self.study_id)
        if stored is None:
            stored = self.store.studies.create(study)
        advice = f"{resume} uses the stored design; a new study needs a new id"
        self.check_same(stored.design, study.design, advice=advice)
        # A process killed between the two writes leaves a study without its plan, which is derived from the design.
        if not self.rows():
            self.store.measurements.plan(self.study_id, plan)
        return stored

    def rows(self) -> tuple[MeasurementRow, ...]:
        """Return the rows of all units, by position."""
        return self.store.measurements.list(self.study_id)

    def claim(self, unit: MeasuredUnit, session_id: str | None = None) -> bool:
        """Mark a planned unit as running, before any request is sent; False when it is no longer planned."""
        return self.store.measurements.claim(self.study_id, unit.position, session_id=session_id)

    def record(self, unit: MeasuredUnit, outcome: UnitOutcome) -> None:
        """Mark a running unit as done or failed, with its outcome."""
        self.store.measurements.record(
            self.study_id,
            unit.position,
            FAILED if outcome.failure else DONE,
            failure=outcome.failure,
            details={"attempt": unit.attempt, **outcome.details},
            **outcome.values,
        )

    def release(self, unit: MeasuredUnit) -> None:
        """Mark a running unit as planned again; its next measurement is a further attempt."""
        if self.store.measurements.reopen(self.study_id, unit.position):
            self.store.measurements.amend(self.study_id, unit.position, details={"attempt": unit.attempt + 1})

    def settle(self, units: Sequence[MeasuredUnit], stored_outcome: Callable[[Any], UnitOutcome | None]) -> None:
        """Decide the state of units that a killed process left running.

        Args:
            units: All units.
            stored_outcome: Returns the outcome of a unit if it was stored elsewhere, such as with its invocation; None
                when none was recorded, in which case the unit is measured again.
        """
        for unit in units:
            if unit.state == RUNNING:
                outcome = stored_outcome(unit)
                if outcome is None:
                    self.release(unit)
                else:
                    self.record(unit, outcome)

    def amend(self, position: int, *, details: dict[str, Any] | None = None, **values: Any) -> None:
        """Add fields that became known later, such as a start time from late logs.

        Args:
            position: The unit.
            details: Values to merge into its details.
            values: Columns of the measurement.
        """
        if details is not None:
            row = next(row for row in self.rows() if row.position == position)
            values["details"] = {**row.details, **details}
        self.store.measurements.amend(self.study_id, position, **values)
