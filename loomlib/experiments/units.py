"""Units of a study: one planned measurement each, with its state and outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from loomlib.errors import StudyInterruptedError

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow

PLANNED: Final = "planned"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
LOST: Final = "lost"
PENDING: Final = (PLANNED, RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUnit:
    """One unit of a study as it is currently stored. Each kind of study adds fields.

    Attributes:
        position: Place in the order of the plan, from 0; the unit's identity within its study.
        state: "planned", "running", "done", "failed" or "lost".
        session_id: The runtime session that the unit used, if any.
        invocation_id: The stored invocation with the answer, if any.
        started_at: When the unit was started.
        duration_ms: Duration of the timed part, in milliseconds; None unless the unit is done.
        failure: Class of the failure; None unless the unit failed.
        error_message: The failure's message.
        attempt: 2 or more when the unit was measured again because the process that ran it before was stopped.
    """

    position: int
    state: str
    session_id: str | None = None
    invocation_id: int | None = None
    started_at: datetime | None = None
    duration_ms: float | None = None
    failure: str | None = None
    error_message: str | None = None
    attempt: int = 1

    @property
    def is_done(self) -> bool:
        """True when the unit was measured."""
        return self.state == DONE

    @property
    def is_failed(self) -> bool:
        """True when the measurement was attempted and failed."""
        return self.state in (FAILED, LOST)

    @property
    def is_pending(self) -> bool:
        """True while the unit is not measured yet."""
        return self.state in PENDING


def unit_fields(row: MeasurementRow) -> dict[str, Any]:
    """Return the fields of `MeasuredUnit` from a stored row."""
    return {
        "position": row.position,
        "state": row.state,
        "session_id": row.session_id,
        "invocation_id": row.invocation_id,
        "started_at": row.started_at,
        "duration_ms": row.duration_ms,
        "failure": row.failure or ("lost" if row.state == LOST else None),
        "error_message": row.error_message,
        "attempt": int(row.details.get("attempt", 1)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOutcome:
    """The outcome of measuring one unit.

    Attributes:
        failure: Class of the failure; None when the unit was measured.
        values: Columns of the store's measurements, such as `duration_ms` and `invocation_id`.
        details: Further JSON-ready values of this kind of study.
        stop: Raised after the outcome is stored, when nothing more can be measured.
    """

    failure: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stop: StudyInterruptedError | None = None


def failure_counts(units: Iterable[MeasuredUnit]) -> Counter[str]:
    """Count the failed units by class of failure."""
    return Counter(unit.failure or "unknown" for unit in units if unit.is_failed)


def pending_count(units: Sequence[MeasuredUnit]) -> int:
    """Count the units that are not measured yet."""
    return sum(unit.is_pending for unit in units)
