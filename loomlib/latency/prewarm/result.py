"""The result of a study of pre-warmed sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.experiments import Gate, MeasuredUnit, StudyRecord, unit_fields

from .design import PrewarmDesign, arm_key

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow, StudyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCall(MeasuredUnit):
    """The call after one idle gap.

    Attributes:
        block: Block of the randomized order; the calls of a block are compared with each other.
        ping_every_s: Seconds between pings during the gap; 0 for none.
        pings_ms: Durations of the answered pings, in milliseconds.
        failed_pings: Failures of the other pings, such as "throttle"; studies of earlier releases counted failed pings
            as answered.
    """

    block: int
    ping_every_s: float
    pings_ms: tuple[float, ...] = ()
    failed_pings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class PrewarmResult(StudyRecord):
    """A study of pre-warmed sessions as it is currently stored."""

    agent_name: str
    qualifier: str
    design: PrewarmDesign
    calls: tuple[GapCall, ...] = field(repr=False)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        design = PrewarmDesign.read(study.design)
        arms = {arm_key(every): every for every in design.ping_every_s}
        return {
            "agent_name": study.agent_name or study.agent_arn,
            "qualifier": str(study.environment.get("qualifier", "DEFAULT")),
            "design": design,
            "calls": tuple(
                GapCall(
                    **unit_fields(row),
                    block=row.block,
                    ping_every_s=arms[row.scenario],
                    pings_ms=tuple(row.details.get("pings", ())),
                    failed_pings=tuple(row.details.get("failed_pings", ())),
                )
                for row in rows
            ),
        }

    @property
    def units(self) -> tuple[GapCall, ...]:
        """The calls after the gaps, in order."""
        return self.calls

    @property
    def subject_line(self) -> str:
        """The agent and its endpoint."""
        return f"{self.agent_name} · {self.qualifier}"

    def gate(self, max_p50_ms: float, ping_every_s: float | None = None, *, allow_overload: bool = False) -> Gate:
        """Compare the median of the first call after a gap with a limit.

        Args:
            max_p50_ms: The limit, in milliseconds.
            ping_every_s: The arm; by default the last one.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        every = self.design.ping_every_s[-1] if ping_every_s is None else ping_every_s
        gate: Gate = call("PrewarmResult.gate", self, max_p50_ms, every)
        return gate if allow_overload else gate.under(self.conditions)
