"""What a recall study found: the stored questions, and every face they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError
from loomlib.presentation.formats import plural

from .arms import Arm
from .design import AGENT, RecallDesign
from .ledger import Ledger
from .measurements import Asked
from .summaries import ArmSummary, Comparison, compare, summarize
from .telling import Settled

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.store import Store

    from .findings import Finding
    from .gate import RecallGate
    from .money import Prices


@dataclass(frozen=True, kw_only=True)
class RecallResult:
    """A study as it is stored now. It may be unfinished: `state` says so, and every face of it says it too.

    >>> result.sentences()
    >>> result.table()
    >>> result.gate(min_recall=0.8).outcome
    """

    study_id: str
    subject: str
    scope: str
    labels: tuple[str, ...]
    design: RecallDesign
    state: str
    created_at: datetime
    finished_at: datetime | None
    asked: tuple[Asked, ...] = field(repr=False)
    settled: tuple[Settled, ...] = field(repr=False)
    environment: Mapping[str, Any] = field(repr=False)
    settings: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def load(cls, store: Store, study_id: str, *, settings: Any = None) -> RecallResult:
        """The result of a stored study; `StudyError` when there is none."""
        ledger = Ledger(store, study_id)
        stored = ledger.stored()
        design = RecallDesign.read(stored.design)
        memory = str(stored.environment.get("memory_name") or "a memory of its own")
        own = " (of the study's own)" if stored.environment.get("memory_is_own") else ""
        agent = [f"agent {stored.agent_name}"] if design.mode == AGENT else []
        return cls(
            study_id=stored.id,
            subject=" · ".join([*agent, f"memory {memory}{own}"]),
            scope=stored.scope,
            labels=tuple(stored.labels),
            design=design,
            state=stored.state,
            created_at=stored.created_at,
            finished_at=stored.finished_at,
            asked=tuple(ledger.asked(design)),
            settled=tuple(Settled.read(each) for each in stored.environment.get("settled", ())),
            environment=dict(stored.environment),
            settings=settings,
        )

    @cached_property
    def arms(self) -> list[ArmSummary]:
        """Every arm's estimates."""
        return summarize(self.asked, self.design)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every other arm against the first one, case by case."""
        return compare(self.asked, self.design)

    @cached_property
    def prices(self) -> Prices:
        """The list prices that costs are told at."""
        from .money import Prices

        return Prices.read(self.design.priced_as, home=getattr(self.settings, "home", None))

    def sentences(self) -> list[str]:
        """The answer in a few sentences."""
        from .sentences import tell

        return tell(self.asked, self.arms, self.design)

    def table(self) -> pd.DataFrame:
        """One row an arm, as text with intervals."""
        from .tables import COLUMNS, arm_rows, frame

        return frame(COLUMNS, arm_rows(self)).set_index("arm")

    def by_age(self) -> pd.DataFrame:
        """Recall by how many sessions ago it was told (rows), for each arm (columns)."""
        from .tables import by_age

        return by_age(self)

    def differences(self) -> pd.DataFrame:
        """What each arm recalls more than the first one, in percentage points with intervals."""
        from .tables import DIFFERENCE_COLUMNS, difference_rows, frame

        return frame(DIFFERENCE_COLUMNS, difference_rows(self)).set_index("arm")

    def questions(self) -> pd.DataFrame:
        """Every question in order: what was expected, what came of it, what it took."""
        from .tables import questions_table

        return questions_table(self.asked)

    def figures(self) -> dict[str, go.Figure]:
        """Plotly charts by name: `recall`, `age`, `growth` and `latency`."""
        from .figures import draw

        return draw(self)

    def findings(self) -> list[Finding]:
        """What to look at next; empty when nothing stands out."""
        from .findings import find

        return find(self.asked, self.settled, self.design)

    def gate(self, min_recall: float, arm: Arm | str | None = None) -> RecallGate:
        """Whether an arm (the best one with retrieval when none is named) recalls at least that share.

        Doubt, such as that of one life with few facts, is "unclear", not "missed" (see `RecallGate`).
        """
        from .gate import judge

        return judge(self.arms, min_recall, Arm.read(arm) if isinstance(arm, str) else arm)

    def summary(self) -> dict[str, Any]:
        """Everything but the single questions as JSON-ready values, labels, method and seed included."""
        from .export import result_summary

        return result_summary(self)

    def title(self) -> str:
        """What was studied, with its labels and when."""
        state = [] if self.state == "complete" else [self.state]
        when = f"{self.created_at:%d %b %Y %H:%M} UTC"
        return " · ".join([self.subject, *self.labels, *state, when])

    def case(self, position: int) -> Asked:
        """One question by its place in the order."""
        found = next((each for each in self.asked if each.position == position), None)
        if found is None:
            raise StudyError(f"The study has no question {position}", on=self.study_id)
        return found

    def _repr_html_(self) -> str:
        from .page import recall_html

        return recall_html(self)

    def __repr__(self) -> str:
        owed = sum(each.is_owed for each in self.asked)
        done, failed = sum(each.is_done for each in self.asked), sum(each.is_failed for each in self.asked)
        still = f", {plural(owed, 'question')} still owed" if owed else ""
        lines = [f"RecallResult({self.study_id!r}, {self.state}: {done} answered, {failed} failed{still})"]
        return "\n".join([*lines, *self.sentences()])
