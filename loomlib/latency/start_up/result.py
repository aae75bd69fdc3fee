"""The result of a study of session starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from loomlib.dispatch import call
from loomlib.experiments import Gate, MeasuredUnit, StudyRecord, unit_fields
from loomlib.store import MeasurementRow, StudyRow
from loomlib.telemetry.session_starts import SessionStartRecord

from .design import PLATFORMS, StartUpDesign


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSession(MeasuredUnit):
    """One new session: its first call, later ones, and how it started. `duration_ms` is that of the first call.

    Attributes:
        block: Block of the randomized order; the sessions of a block are compared with each other.
        platform: The platform, "V1" or "V2", or `PROCESS` for a process that was started directly.
        later_ms: Durations of the later calls, in milliseconds.
        start: The start in parts, as the service recorded it; None where it records none.
        ready_ms: From the start of a process to its first answered ping, in milliseconds; None for a session.
    """

    block: int
    platform: str
    later_ms: tuple[float, ...] = ()
    start: SessionStartRecord | None = None
    ready_ms: float | None = None

    @property
    def later_call_ms(self) -> float | None:
        """Median duration of the later calls; None when there is none."""
        return median(self.later_ms) if self.later_ms else None

    @property
    def cost_ms(self) -> float | None:
        """The cost of the new session: its first call minus the median of later ones; None unless both are known."""
        later = self.later_call_ms
        return self.duration_ms - later if self.is_done and self.duration_ms is not None and later is not None else None

    @property
    def first_request_ms(self) -> float | None:
        """The cost of the first request beyond the process start; on V2 that is the first access to its memory."""
        cost, start_ms = self.cost_ms, self.start.duration_ms if self.start is not None else self.ready_ms
        return cost - start_ms if cost is not None and start_ms is not None else None


@dataclass(frozen=True, kw_only=True, repr=False)
class StartUpResult(StudyRecord):
    """A study of session starts as it is currently stored.

    Attributes:
        agents: The name and the endpoint of the agent by platform.
        sessions: The sessions, in order.
    """

    agents: Mapping[str, str]
    design: StartUpDesign
    sessions: tuple[StartedSession, ...] = field(repr=False)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        agents = study.environment.get("agents", {})
        return {
            "agents": {platform: f"{agent['name']} · {agent['qualifier']}" for platform, agent in agents.items()},
            "design": StartUpDesign.read(study.design),
            "sessions": tuple(
                StartedSession(
                    **unit_fields(row),
                    block=row.block,
                    platform=row.scenario,
                    later_ms=tuple(row.details.get("later_ms", ())),
                    ready_ms=row.details.get("ready_ms"),
                    start=SessionStartRecord.read(row.details.get("start") or {}),
                )
                for row in rows
            ),
        }

    @property
    def units(self) -> tuple[StartedSession, ...]:
        """The sessions, in order."""
        return self.sessions

    @property
    def subject_line(self) -> str:
        """The agents, by platform."""
        return " and ".join(f"{self.agents[platform]} on {platform}" for platform in PLATFORMS)

    def gate(self, max_p75_ms: float, platform: str = "V2", *, allow_overload: bool = False) -> Gate:
        """Compare the third quartile of what a new session costs with a limit.

        Args:
            max_p75_ms: The limit, in milliseconds.
            platform: The platform.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        gate: Gate = call("StartUpResult.gate", self, max_p75_ms, platform)
        return gate if allow_overload else gate.under(self.conditions)
