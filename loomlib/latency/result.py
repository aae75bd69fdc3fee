"""The result of a latency study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.experiments import PLANNED, StudyLedger, StudyRecord, record_fields

from .design import StudyDesign
from .floor import Floor
from .gate import LatencyGate
from .measurements import Measurement
from .scenarios import Scenario
from .summaries import StudySummary, summarize

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.store import MeasurementRow, Store, StudyRow

    from .scenario_parts import CallTrace, ScenarioParts
    from .study_changes import StudyChanges


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult(StudyRecord):
    """A latency study as it is currently stored. `state`, and every view, says when it is unfinished.

    Examples:
        >>> result.sentences()
        >>> result.table()
        >>> result.gate(max_p90_ms=900).outcome
    """

    agent_name: str
    agent_arn: str
    qualifier: str
    design: StudyDesign
    calls: tuple[Measurement, ...] = field(repr=False)
    floor: Floor = field(repr=False)
    client: dict[str, Any] = field(repr=False)
    store: Store = field(repr=False, compare=False)
    stopped: str = ""
    dask: Mapping[str, int] | None = field(default=None, repr=False)
    """Workers and threads of the Dask cluster that made the calls; None for calls of one process."""

    @classmethod
    def load(cls, store: Store, study_id: str) -> StudyResult:
        """Return the result of a stored study.

        Args:
            store: The store, such as `bench.context.store`.
            study_id: The study's id.

        Raises:
            StudyError: No study of this id is stored.
        """
        ledger = StudyLedger(store, study_id)
        study = ledger.stored
        return cls(**record_fields(study), **cls.read(study, ledger.rows()), store=store)

    @classmethod
    def read(cls, study: StudyRow, rows: Sequence[MeasurementRow]) -> dict[str, Any]:
        """Return the fields that this kind of result adds, except for the store.

        Args:
            study: The stored study.
            rows: Its measurements, in order.
        """
        stopped: str = study.environment.get("stopped", "")
        pauses: dict[str, float] = study.environment.get("garbage_collections_ms", {})
        process_starts: dict[str, bool] = study.environment.get("process_starts", {})
        return {
            "agent_name": study.agent_name or study.agent_arn,
            "agent_arn": study.agent_arn,
            "qualifier": str(study.environment.get("qualifier", "DEFAULT")),
            "design": StudyDesign.read(study.design),
            "calls": tuple(
                Measurement.read(
                    row,
                    garbage_collection_ms=pauses.get(str(row.position)),
                    started_process=process_starts.get(str(row.position)),
                )
                for row in rows
                if not stopped or row.state != PLANNED
            ),
            "stopped": stopped,
            "floor": Floor.read(study.environment.get("floor")),
            "client": dict(study.environment.get("client", {})),
            "dask": study.environment.get("dask"),
        }

    @property
    def units(self) -> tuple[Measurement, ...]:
        """The calls of the study, in order."""
        return self.calls

    @property
    def subject_line(self) -> str:
        """The agent and its endpoint."""
        return f"{self.agent_name} · {self.qualifier}"

    @property
    def answered(self) -> int:
        """Calls that were answered in full."""
        return sum(call.is_done for call in self.calls)

    @property
    def failed(self) -> int:
        """Calls that failed."""
        return sum(call.is_failed for call in self.calls)

    @cached_property
    def _estimates(self) -> StudySummary:
        return summarize(self.calls, self.floor, planned=self._planned)

    @property
    def _planned(self) -> int | None:
        return max(self.design.counts.values()) if self.stopped else None

    def estimates(self) -> StudySummary:
        """Return every estimate of the study."""
        return self._estimates

    def measurements(self) -> pd.DataFrame:
        """Return every call in order as a DataFrame of numbers; what was not measured is missing, never 0."""
        return call("StudyResult.measurements", self.calls)

    def inside(self, traces: Iterable[CallTrace]) -> ScenarioParts:
        """Return each scenario's time by the parts of its calls' traces, to show which are slower in a cold session.

        Examples:
            >>> result.inside(agent.telemetry.traces(last=100)).table()

        Args:
            traces: Traces of the study's calls; others are ignored.
        """
        return call("StudyResult.inside", self.calls, traces, title=self.title())

    def compare(self, before: StudyResult) -> StudyChanges:
        """Return what changed since an earlier study: each figure's difference with its interval.

        Examples:
            >>> StudyResult.load(bench.context.store, "…").compare(before).table()

        Args:
            before: The earlier study: of the same agent, of another version, or of another endpoint.

        Raises:
            ValueError: The studies have no scenario in common.
        """
        changes: StudyChanges = call(
            "StudyResult.compare",
            before.estimates(),
            self.estimates(),
            titles=(before.title(), self.title()),
            caveats=self._caveats(before),
        )
        if not changes.scenarios:
            raise ValueError("the two studies have no scenario in common")
        return changes

    def _caveats(self, before: StudyResult) -> list[str]:
        """Return what differs between the studies besides the time."""
        texts: list[str] = []
        if before.design.prompt != self.design.prompt:
            texts.append("The prompts differ, so a difference may come from them.")
        if before.scope != self.scope:
            texts.append(f"One study ran {before.scope}, the other {self.scope}: the machines differ.")
        if before.platform_version != self.platform_version:
            texts.append(
                f"The platform versions differ: {before.platform_version or 'unknown'} before, "
                f"{self.platform_version or 'unknown'} after."
            )
        if (before.dask is None) != (self.dask is None):
            texts.append("The calls of one study were made by several workers at once, those of the other one by one.")
        texts.append(
            "The studies ran at different times, so any other change in between is part of a difference; "
            "ComparisonStudy calls two agents in turn."
        )
        return texts

    def gate(
        self, max_p90_ms: float, scenario: Scenario | str = Scenario.WARM, *, allow_overload: bool = False
    ) -> LatencyGate:
        """Compare a scenario's 90th percentile with a limit.

        Args:
            max_p90_ms: The limit, in milliseconds.
            scenario: The scenario that the limit is for.
            allow_overload: Whether to decide the gate also when the machine was overloaded.

        Returns:
            The verdict: passed, missed, or unclear when the interval contains the limit or the machine was overloaded.
        """
        gate: LatencyGate = call(
            "StudyResult.gate",
            self.store,
            self.study_id,
            self.calls,
            limit_ms=max_p90_ms,
            scenario=Scenario(scenario),
            planned=self._planned,
        )
        return gate if allow_overload else gate.under(self.conditions)
