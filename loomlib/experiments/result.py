"""The result of a study: the stored data, with views that are provided by the package of its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from loomlib.dispatch import call, register
from loomlib.presentation.formats import date_time, plural

from .conditions import StudyConditions
from .ledger import StudyLedger
from .units import MeasuredUnit, pending_count

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from markupsafe import Markup

    from loomlib.store import MeasurementRow, Store, StudyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFinding:
    """A notable observation in a study's measurements.

    Attributes:
        kind: Short name of the observation.
        title: What was observed.
        evidence: The numbers.
        advice: What to do about it; may be empty.
    """

    kind: str
    title: str
    evidence: str
    advice: str = ""

    def summary(self) -> dict[str, str]:
        """Return the finding as JSON-ready values."""
        return {"kind": self.kind, "title": self.title, "evidence": self.evidence, "advice": self.advice}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyMethod:
    """How a study was conducted.

    Attributes:
        notes: How the numbers were obtained, one sentence each.
        limits: Limitations of the study, one sentence each.
        run_again: Python code that runs the study again.
        facts: Further JSON-ready values, such as the seed.
    """

    notes: Sequence[str]
    limits: Sequence[str]
    run_again: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def summary(self) -> dict[str, Any]:
        """Return the method as JSON-ready values."""
        return {**self.facts, "notes": list(self.notes), "cannot_tell": list(self.limits), "run_again": self.run_again}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """A study's main table as text.

    Attributes:
        columns: Column names; the first column names the rows.
        rows: Cells, one row for each condition.
        marks: CSS colour and symbol of each row's condition; empty when conditions have none.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marks: Sequence[tuple[str, str]] = ()

    def frame(self) -> pd.DataFrame:
        """Return the table as a DataFrame of text."""
        from loomlib.presentation.text_frame import TextFrame

        rows = [list(row) for row in self.rows]
        return TextFrame(rows, columns=list(self.columns)).set_index(self.columns[0])


def register_result(name: str, module: str) -> None:
    """Name the module that implements the views on a kind of result.

    Args:
        name: Name of the result's class.
        module: Dotted name of the module. It has the functions `sentences`, `table`, `findings`, `figures`, `method`,
            `details` (further JSON-ready values) and `sections` (further HTML), each of one result.
    """
    for view in ("sentences", "table", "findings", "figures", "method", "details", "sections"):
        register(f"{name}.{view}", f"{module}:{view}")


_PLATFORMS = {
    "V1": "Runtime platform V1: each session boots its own process.",
    "V2": "Runtime platform V2: each session is restored from a snapshot of its version, so a cold call contains no "
    "imports.",
}


_ISOLATION_LABEL = "sessions: "


def isolation_notes(labels: Sequence[str]) -> list[str]:
    """Return a sentence on the isolation of the agents' sessions, as named by the local service's provenance labels.

    Args:
        labels: Provenance labels, such as "sessions: bubblewrap, network open".
    """
    isolations = [label.removeprefix(_ISOLATION_LABEL) for label in labels if label.startswith(_ISOLATION_LABEL)]
    return [f"Isolation of sessions: {isolation}." for isolation in isolations]


def record_fields(study: StudyRow) -> dict[str, Any]:
    """Return the fields of `StudyRecord` from a stored study, all but the design."""
    same = {name: getattr(study, name) for name in ("scope", "labels", "state", "created_at", "finished_at")}
    return {
        "study_id": study.id,
        **same,
        "conditions": StudyConditions.read(study.environment.get("machine")),
        "platform_version": str(study.environment.get("platform_version") or ""),
    }


@dataclass(frozen=True, kw_only=True)
class StudyRecord(ABC):
    """A study as it is currently stored. `state` and every view show when it is unfinished.

    Attributes:
        study_id: The study's id; a study is resumed with it.
        scope: "local" or "aws".
        labels: Provenance labels, such as "model: scripted (simulated)".
        design: The study's design.
        state: "planned", "running", "interrupted" or "complete".
        created_at: When the study was stored.
        finished_at: When it was completed.
        conditions: What the machine did while the study was measured.
        platform_version: Platform version of the runtime, "V1" or "V2"; empty when it was not recorded.
    """

    study_id: str
    scope: str
    labels: tuple[str, ...]
    design: Any
    state: str
    created_at: datetime
    finished_at: datetime | None
    conditions: StudyConditions = field(default=StudyConditions(), repr=False)
    platform_version: str = ""

    @classmethod
    def load(cls, store: Store, study_id: str) -> Self:
        """Return the result of a stored study.

        Args:
            store: The store, such as `bench.context.store`.
            study_id: The study's id.

        Raises:
            StudyError: No study with this id is stored.
        """
        ledger = StudyLedger(store, study_id)
        study = ledger.stored
        return cls(**record_fields(study), **cls.read(study, ledger.rows()))

    @classmethod
    @abstractmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields that a kind of result adds, such as the design and the units, from the stored rows.

        Args:
            study: The stored study.
            rows: Its measurements, in order.
        """

    @property
    @abstractmethod
    def units(self) -> Sequence[MeasuredUnit]:
        """The units of the study, in order."""

    @property
    @abstractmethod
    def subject_line(self) -> str:
        """The subject of the study in one line."""

    def title(self) -> str:
        """Return the subject, the provenance labels and the time: `calculator · DEFAULT · local AgentCore · …`."""
        state = [] if self.state == "complete" else [self.state]
        platform = [f"platform {self.platform_version}"] if self.platform_version else []
        return " · ".join([self.subject_line, *platform, *self.labels, *state, date_time(self.created_at)])

    def sentences(self) -> list[str]:
        """Return the conclusions in a few sentences; a disturbed measurement is mentioned first."""
        disturbed = self.conditions.sentence()
        return [*([disturbed] if disturbed else []), *self._view("sentences")]

    def table(self) -> pd.DataFrame:
        """Return the main table as text: one row for each condition, with 95 % intervals."""
        return self.text_table().frame()

    def text_table(self) -> StudyTable:
        """Return the main table as rows of text."""
        return self._view("table")

    def findings(self) -> list[StudyFinding]:
        """Return notable findings with their numbers; empty when there are none."""
        return self._view("findings")

    def figures(self) -> dict[str, go.Figure]:
        """Return the plotly charts by name."""
        return self._view("figures")

    def method(self) -> StudyMethod:
        """Return how the study was conducted, its limitations, and how to repeat it."""
        method: StudyMethod = self._view("method")
        platform = [_PLATFORMS[self.platform_version]] if self.platform_version in _PLATFORMS else []
        notes = [*method.notes, *platform, *isolation_notes(self.labels), *self.conditions.notes()]
        return replace(method, notes=notes)

    def sections(self) -> Sequence[Markup]:
        """Return additional sections of the page as HTML."""
        return self._view("sections")

    def summary(self) -> dict[str, Any]:
        """Return labels, method, seed, versions and all estimates as JSON-ready values, without single units."""
        finding_summaries = [finding.summary() for finding in self.findings()]
        return {
            "study_id": self.study_id,
            "name": self.design.name,
            "state": self.state,
            "scope": self.scope,
            "created_at": self.created_at.isoformat(),
            "finished_at": self.finished_at.isoformat() if self.finished_at else None,
            "labels": list(self.labels),
            "platform_version": self.platform_version or None,
            "machine": self.conditions.summary(),
            "sentences": self.sentences(),
            "findings": finding_summaries,
            "design": self.design.stored(),
            "method": self.method().summary(),
            "run_again": self.method().run_again,
            **self._view("details"),
        }

    def _view(self, name: str) -> Any:
        return call(f"{type(self).__name__}.{name}", self)

    def _repr_html_(self) -> str:
        return call("StudyRecord.html", self)

    def __repr__(self) -> str:
        answered_count, failed_count = (
            sum(unit.is_done for unit in self.units),
            sum(unit.is_failed for unit in self.units),
        )
        pending = pending_count(self.units)
        rest = f", {plural(pending, 'call')} pending" if pending else ""
        return (
            f"{type(self).__name__}({self.study_id!r}, {self.subject_line!r}, {self.state}: "
            f"{answered_count} answered, {failed_count} failed{rest})"
        )
