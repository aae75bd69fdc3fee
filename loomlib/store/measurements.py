"""Storage of measurements: all are planned before the first one runs, and each is measured once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, func, select, update

from ..errors import StoreError
from .database import Database
from .operation_tables import invocation_costs
from .rows import MEASUREMENT_STATES, MeasurementRow, PlannedMeasurement, row
from .tables import measurements

_PICOS: Final = 1e12
_FINAL = ("done", "failed", "lost")
_MEASURED = frozenset(
    {
        "session_id",
        "invocation_id",
        "started_at",
        "finished_at",
        "schedule_lag_ms",
        "duration_ms",
        "ttft_ms",
        "connect_ms",
        "cold_start_latency_ms",
        "start_state",
        "skew_low_ms",
        "skew_high_ms",
        "failure",
        "error_message",
        "details",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCost:
    """The cost of a measurement's call.

    Attributes:
        currency: ISO 4217 code.
        amount: The sum of the items whose cost is known, in that currency.
        is_whole: Whether no item is unknown.
    """

    currency: str
    amount: float
    is_whole: bool


class Measurements:
    """The measurements of all studies, addressed by study and position."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(self, study_id: str, planned: Iterable[PlannedMeasurement]) -> int:
        """Store the whole plan, or nothing, and return the number of measurements.

        Raises:
            StoreError: A position is taken.
        """
        new = [{"study_id": study_id, "state": "planned", **asdict(measurement)} for measurement in planned]
        if new:
            with self._database.write() as connection:
                connection.execute(measurements.insert(), new)
        return len(new)

    def claim(self, study_id: str, position: int, *, session_id: str | None = None) -> bool:
        """Move a measurement from planned to running and store the time.

        Args:
            study_id: The study.
            position: The measurement's position in the plan.
            session_id: The session that it will use, if it is known.

        Returns:
            False when it is not planned, or no longer: do not run it then.
        """
        change = (
            update(measurements)
            .where(_at(study_id, position), measurements.c.state == "planned")
            .values(state="running", started_at=datetime.now(UTC), session_id=session_id)
        )
        with self._database.write() as connection:
            return connection.execute(change).rowcount == 1

    def record(self, study_id: str, position: int, state: str, **measured: Any) -> None:
        """Close a planned or running measurement as done, failed or lost.

        Args:
            study_id: The study.
            position: The measurement's position in the plan.
            state: "done", "failed" or "lost".
            **measured: Any measured fields of `MeasurementRow`.

        Raises:
            StoreError: The measurement is closed already; nothing is measured twice.
        """
        if state not in _FINAL:
            raise ValueError(f"a measurement ends {', '.join(_FINAL)}, not {state!r}")
        values = {"finished_at": datetime.now(UTC)} | _checked(measured) | {"state": state}
        change = update(measurements).where(_at(study_id, position), measurements.c.state.not_in(_FINAL))
        with self._database.write() as connection:
            changed = connection.execute(change.values(values)).rowcount
        if changed == 0:
            raise StoreError(
                "The measurement is closed already, or was never planned",
                on=f"{study_id} #{position}",
                try_="resume the study, which plans its own measurements",
            )

    def amend(self, study_id: str, position: int, **measured: Any) -> None:
        """Add fields that became known later, such as a cold start from late logs; the state stays."""
        change = update(measurements).where(_at(study_id, position)).values(_checked(measured))
        with self._database.write() as connection:
            changed = connection.execute(change).rowcount
        if changed == 0:
            raise StoreError("No such measurement", on=f"{study_id} #{position}", try_="a position of the study's plan")

    def reopen(self, study_id: str, position: int) -> bool:
        """Move a measurement of a killed process from running back to planned, so that it is measured again."""
        blank: dict[str, Any] = dict.fromkeys(_MEASURED)
        change = update(measurements).where(_at(study_id, position), measurements.c.state == "running")
        with self._database.write() as connection:
            return connection.execute(change.values(blank | {"state": "planned"})).rowcount == 1

    def next(self, study_id: str) -> MeasurementRow | None:
        """Return the first planned measurement, or None when none is left."""
        chosen = (
            select(measurements)
            .where(measurements.c.study_id == study_id, measurements.c.state == "planned")
            .order_by(measurements.c.position)
            .limit(1)
        )
        with self._database.read() as connection:
            record = connection.execute(chosen).mappings().first()
        return None if record is None else row(MeasurementRow, record)

    def list(self, study_id: str, states: Sequence[str] = MEASUREMENT_STATES) -> tuple[MeasurementRow, ...]:
        """Return the study's measurements in `states`, by position."""
        chosen = (
            select(measurements)
            .where(measurements.c.study_id == study_id, measurements.c.state.in_(states))
            .order_by(measurements.c.position)
        )
        with self._database.read() as connection:
            records = connection.execute(chosen).mappings().all()
        return tuple(row(MeasurementRow, record) for record in records)

    def costs(self, study_id: str) -> dict[int, MeasuredCost]:
        """Return what the study's calls cost, by position: those whose invocation has a stored cost above zero."""
        costs = invocation_costs.c
        chosen = (
            select(measurements.c.position, costs.currency, costs.known_picos, costs.unknown_items)
            .join(invocation_costs, costs.invocation_id == measurements.c.invocation_id)
            .where(measurements.c.study_id == study_id, costs.known_picos > 0)
        )
        with self._database.read() as connection:
            return {
                position: MeasuredCost(currency=currency, amount=picos / _PICOS, is_whole=not unknown)
                for position, currency, picos, unknown in connection.execute(chosen)
            }

    def counts(self, study_id: str) -> dict[str, int]:
        """Count the measurements in each state; every state is a key."""
        chosen = (
            select(measurements.c.state, func.count())
            .where(measurements.c.study_id == study_id)
            .group_by(measurements.c.state)
        )
        with self._database.read() as connection:
            counts: dict[str, int] = {state: count for state, count in connection.execute(chosen)}
        return {state: counts.get(state, 0) for state in MEASUREMENT_STATES}


def _at(study_id: str, position: int) -> ColumnElement[bool]:
    return (measurements.c.study_id == study_id) & (measurements.c.position == position)


def _checked(measured: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := set(measured) - _MEASURED:
        raise TypeError(f"a measurement has no {', '.join(sorted(unknown))}; it has {', '.join(sorted(_MEASURED))}")
    return dict(measured)
