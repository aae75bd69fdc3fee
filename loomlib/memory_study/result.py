"""The result of a memory study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from loomlib.dispatch import call
from loomlib.errors import StudyError
from loomlib.experiments import StudyRecord
from loomlib.store import MeasurementRow, Store, StudyRow

from .arms import Arm
from .design import AGENT, MemoryDesign
from .gate import MemoryGate
from .measurements import AskedQuestion
from .prices import StudyPrices
from .summaries import ArmComparison, ArmSummary, compare, summarize
from .writing import ExtractionState

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, repr=False)
class MemoryResult(StudyRecord):
    """A memory study as it is currently stored. `state` and every view show when it is unfinished.

    Examples:
        >>> result.sentences()
        >>> result.table()
        >>> result.gate(min_recall=0.8).outcome
    """

    subject: str
    design: MemoryDesign
    asked: tuple[AskedQuestion, ...] = field(repr=False)
    settled: tuple[ExtractionState, ...] = field(repr=False)
    environment: Mapping[str, Any] = field(repr=False)
    settings: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def load(cls, store: Store, study_id: str, *, settings: Any = None) -> Self:
        """Return the result of a stored study.

        Args:
            store: The store, such as `bench.context.store`.
            study_id: The study's id.
            settings: Loom's settings, with the folder of the user's own prices.

        Raises:
            StudyError: No study with this id is stored.
        """
        return replace(super().load(store, study_id), settings=settings)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields of a stored study."""
        design = MemoryDesign.read(study.design)
        memory = str(study.environment.get("memory_name") or "created by the study")
        own = " (created by the study)" if study.environment.get("memory_is_own") else ""
        agent = [f"agent {study.agent_name}"] if design.mode == AGENT else []
        planned = {question.position: question for question in design.questions()}
        return {
            "subject": " · ".join([*agent, f"memory {memory}{own}"]),
            "design": design,
            "asked": tuple(AskedQuestion.read(row, planned[row.position]) for row in rows),
            "settled": tuple(map(ExtractionState.read, study.environment.get("settled", ()))),
            "environment": dict(study.environment),
        }

    @property
    def units(self) -> tuple[AskedQuestion, ...]:
        """The questions of the study, in order."""
        return self.asked

    @property
    def subject_line(self) -> str:
        """The agent, if one was asked, and the memory."""
        return self.subject

    @cached_property
    def arms(self) -> list[ArmSummary]:
        """Every arm's estimates."""
        return summarize(self.asked, self.design)

    @cached_property
    def comparisons(self) -> list[ArmComparison]:
        """Every other arm compared with the first one, case by case."""
        return compare(self.asked, self.design)

    @cached_property
    def prices(self) -> StudyPrices:
        """List prices of tokens and retrievals."""
        return StudyPrices.read(self.design.priced_as, home=getattr(self.settings, "home", None))

    def by_age(self) -> pd.DataFrame:
        """Return recall by the number of sessions since a fact was stated (rows), for each arm (columns)."""
        return call("MemoryResult.by_age", self)

    def differences(self) -> pd.DataFrame:
        """Return the difference in recall between each arm and the first one, in percentage points with intervals."""
        return call("MemoryResult.differences", self)

    def questions(self) -> pd.DataFrame:
        """Return every question in order: the expected answer, the verdict, and time and tokens used."""
        return call("MemoryResult.questions", self)

    def gate(self, min_recall: float, arm: Arm | str | None = None) -> MemoryGate:
        """Compare an arm's recall with a limit.

        Args:
            min_recall: Minimum acceptable recall, above 0 and at most 1.
            arm: The arm; by default the best one with retrieval.

        Returns:
            The verdict: passed, missed, or unclear when the interval contains the limit.
        """
        return call("MemoryResult.gate", self.arms, min_recall, Arm.read(arm) if isinstance(arm, str) else arm)

    def case(self, position: int) -> AskedQuestion:
        """Return one question by its position in the order."""
        question = next((question for question in self.asked if question.position == position), None)
        if question is None:
            raise StudyError(
                f"The study has no question {position}", on=self.study_id, try_="a position of result.questions()"
            )
        return question

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.sentences()])
