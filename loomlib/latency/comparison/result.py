"""The result of a comparison of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.experiments import MeasuredUnit, StudyRecord, unit_fields
from loomlib.presentation.formats import join

from .design import ComparisonDesign

if TYPE_CHECKING:
    from loomlib.store import MeasurementRow, StudyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCall(MeasuredUnit):
    """One timed call.

    Attributes:
        block: Block of the randomized order; the calls of a block are made one after the other.
        agent: The agent's label.
        ttft_ms: Time to the first byte, in milliseconds.
    """

    block: int
    agent: str
    ttft_ms: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult(StudyRecord):
    """A comparison of agents as it is currently stored."""

    design: ComparisonDesign
    calls: tuple[ComparedCall, ...] = field(repr=False)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        return {
            "design": ComparisonDesign.read(study.design),
            "calls": tuple(
                ComparedCall(**unit_fields(row), block=row.block, agent=row.scenario, ttft_ms=row.ttft_ms)
                for row in rows
            ),
        }

    @property
    def units(self) -> tuple[ComparedCall, ...]:
        """The calls, in order."""
        return self.calls

    @property
    def subject_line(self) -> str:
        """The agents."""
        return join(list(self.design.agents))

    def of(self, agent: str) -> list[ComparedCall]:
        """Return the calls of one agent.

        Args:
            agent: Its label.
        """
        return [call for call in self.calls if call.agent == agent]
