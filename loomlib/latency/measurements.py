"""One measurement of a study, as its result reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from .scenarios import Scenario

PLANNED, RUNNING, DONE, FAILED, LOST = "planned", "running", "done", "failed", "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One timed call: where it stood in the order, and what came of it.

    `state` is "planned", "running", "done", "failed" or "lost". A failed call keeps its class in `failure` and has no
    part in any percentile. `start_latency_ms` is the agent's own start line minus the client's send, by two clocks;
    `start_state` says how the search for that line ended (None: nobody looked). `attempt` is 2 when the call was made
    again because a killed process left nobody who saw the outcome of the first.
    """

    position: int
    block: int
    scenario: Scenario
    state: str
    session_id: str | None = None
    invocation_id: int | None = None
    started_at: datetime | None = None
    duration_ms: float | None = None
    ttft_ms: float | None = None
    connect_ms: float | None = None
    connection_reused: bool | None = None
    start_latency_ms: float | None = None
    start_state: str | None = None
    failure: str | None = None
    error_message: str | None = None
    attempt: int = 1
    session_plan: str = ""

    @property
    def is_done(self) -> bool:
        """True when the call was answered in full and its duration is known."""
        return self.state == DONE and self.duration_ms is not None

    @property
    def is_failed(self) -> bool:
        """True when the call was made and did not succeed."""
        return self.state in (FAILED, LOST)

    @property
    def is_owed(self) -> bool:
        """True while the call is still to be made."""
        return self.state in (PLANNED, RUNNING)


def of_scenario(measurements: Sequence[Measurement], scenario: Scenario) -> list[Measurement]:
    """The measurements of one scenario, in the order of the plan."""
    return [each for each in measurements if each.scenario is scenario]
