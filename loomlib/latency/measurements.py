"""One timed call of a latency study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loomlib.experiments import DONE, MeasuredUnit, unit_fields

from .scenarios import Scenario

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow

FOUND: Final = "found"
NO_START_LINE: Final = "no_start_line"
NOT_FOUND_YET: Final = "not_found_yet"
NO_LOGS: Final = "no_logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(MeasuredUnit):
    """One timed call. Durations are milliseconds from sending the request.

    Attributes:
        block: Block of the randomized order; the cold and the warm call of a block are a pair.
        scenario: Cold, warm or sticky.
        ttft_ms: Time to the first byte.
        connect_ms: Time to open the connection, 0 for one that was open.
        connection_reused: Whether the connection was open before the call.
        start_latency_ms: Time of the agent's start line (its clock) minus the time of sending (the client's clock).
        start_state: How the search for the start line ended; None when there was no search.
        session_plan: Which session the call was planned to use.
        garbage_collection_ms: How long full garbage collections paused the agent's process during the call; None when
            unknown.
        started_process: Whether a process (a microVM) was started for the call, by the logs; None when unknown.
    """

    block: int
    scenario: Scenario
    ttft_ms: float | None = None
    connect_ms: float | None = None
    connection_reused: bool | None = None
    start_latency_ms: float | None = None
    start_state: str | None = None
    session_plan: str = ""
    garbage_collection_ms: float | None = None
    started_process: bool | None = None

    @property
    def is_done(self) -> bool:
        """True when the call was answered in full and its duration is known."""
        return self.state == DONE and self.duration_ms is not None

    @property
    def has_start(self) -> bool:
        """True when the call was answered and the agent's start is known."""
        return self.is_done and self.start_state == FOUND and self.start_latency_ms is not None

    @classmethod
    def read(
        cls,
        row: MeasurementRow,
        *,
        garbage_collection_ms: float | None = None,
        started_process: bool | None = None,
    ) -> Measurement:
        """Return the measurement of a stored row.

        Args:
            row: The row.
            garbage_collection_ms: Stored duration of the call's garbage collections.
            started_process: Stored answer to whether the call started a process.
        """
        return cls(
            **unit_fields(row),
            block=row.block,
            scenario=Scenario(row.scenario),
            ttft_ms=row.ttft_ms,
            connect_ms=row.connect_ms,
            connection_reused=row.details.get("connection_reused"),
            start_latency_ms=row.cold_start_latency_ms,
            start_state=row.start_state,
            session_plan=row.session_plan,
            garbage_collection_ms=garbage_collection_ms,
            started_process=started_process,
        )


def of_scenario(measurements: Sequence[Measurement], scenario: Scenario) -> list[Measurement]:
    """Return the measurements of one scenario, in the order of the plan."""
    return [call for call in measurements if call.scenario is scenario]
