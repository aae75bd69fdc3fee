"""What a study found: the stored measurements, and every face they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loomlib.errors import StudyError
from loomlib.presentation.formats import plural

from .design import StudyDesign
from .floor import Floor
from .ledger import Ledger
from .measurements import Measurement
from .scenarios import Scenario

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.store import Store

    from .findings import Finding
    from .gate import GateVerdict
    from .scenario_parts import CallTrace, ScenarioParts
    from .summaries import StudySummary


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """A study as it is stored now. It may be unfinished: `state` says so, and every face of it says it too.

    >>> result.sentences()
    >>> result.table()
    >>> result.gate(max_p90_ms=900).outcome
    """

    study_id: str
    agent_name: str
    agent_arn: str
    qualifier: str
    scope: str
    labels: tuple[str, ...]
    design: StudyDesign
    state: str
    created_at: datetime
    finished_at: datetime | None
    calls: tuple[Measurement, ...] = field(repr=False)
    floor: Floor = field(repr=False)
    client: dict[str, Any] = field(repr=False)
    store: Store = field(repr=False, compare=False)
    _estimates: StudySummary | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, store: Store, study_id: str) -> StudyResult:
        """The result of a stored study; `StudyError` when there is none."""
        stored = store.studies.get(study_id)
        if stored is None:
            raise StudyError("No such study in the store", on=study_id, try_="LatencyStudy(agent).run() starts one")
        return cls(
            study_id=stored.id,
            agent_name=stored.agent_name or stored.agent_arn,
            agent_arn=stored.agent_arn,
            qualifier=str(stored.environment.get("qualifier", "DEFAULT")),
            scope=stored.scope,
            labels=stored.labels,
            design=StudyDesign.read(stored.design),
            state=stored.state,
            created_at=stored.created_at,
            finished_at=stored.finished_at,
            calls=tuple(Ledger(store, study_id).measurements()),
            floor=Floor.read(stored.environment.get("floor")),
            client=dict(stored.environment.get("client", {})),
            store=store,
        )

    @property
    def answered(self) -> int:
        """How many calls were answered in full."""
        return sum(each.is_done for each in self.calls)

    @property
    def failed(self) -> int:
        """How many calls failed."""
        return sum(each.is_failed for each in self.calls)

    def estimates(self) -> StudySummary:
        """Every estimate of the study, computed once."""
        if self._estimates is None:
            from .summaries import summarize

            object.__setattr__(self, "_estimates", summarize(self.calls, self.floor, seed=self.design.seed))
        assert self._estimates is not None
        return self._estimates

    def sentences(self) -> list[str]:
        """The answer in three sentences, and a fourth on where a cold call's time goes when the start times tell."""
        from .parts import sentence, split_time
        from .sentences import tell

        told = tell(self.estimates(), self.calls)
        share = sentence(split_time(self.calls, self.floor, Scenario.COLD), Scenario.COLD)
        return [*told, share] if share else told

    def table(self) -> pd.DataFrame:
        """One row a scenario, as text with intervals; milliseconds."""
        from .tables import summary_table

        return summary_table(self.estimates())

    def measurements(self) -> pd.DataFrame:
        """Every call in order, as numbers; what was not measured is missing, never 0."""
        from .tables import calls_table

        return calls_table(self.calls)

    def figures(self) -> dict[str, go.Figure]:
        """Plotly charts by name: `calls`, `distribution` and `time`."""
        from .figures import draw

        return draw(self.calls, self.floor, subtitle=self.title())

    def inside(self, traces: Iterable[CallTrace]) -> ScenarioParts:
        """Each scenario's time by the parts of its calls' traces: what exactly is slower when a session is cold.

        >>> result.inside(agent.traces(last=100)).table()
        """
        from .scenario_parts import ScenarioParts

        return ScenarioParts.of(self.calls, traces, seed=self.design.seed, title=self.title())

    def findings(self) -> list[Finding]:
        """What to look at next, each with its numbers; empty when nothing stands out."""
        from .findings import find

        return find(self.calls, self.estimates(), seed=self.design.seed)

    def gate(self, max_p90_ms: float, scenario: Scenario | str = Scenario.WARM) -> GateVerdict:
        """Whether the scenario's 90th percentile keeps to `max_p90_ms`; doubt is "unclear", not "missed"."""
        from .gate import judge

        return judge(
            self.store,
            self.study_id,
            self.calls,
            limit_ms=max_p90_ms,
            scenario=Scenario(scenario),
            seed=self.design.seed,
        )

    def summary(self) -> dict[str, Any]:
        """Everything but the single calls as JSON-ready values, labels, method, seed and versions included."""
        from .export import result_summary

        return result_summary(self)

    def title(self) -> str:
        """`calculator · DEFAULT · local AgentCore · … · 21 Nov 2026 21:30 UTC`: what was measured, with its labels."""
        state = [] if self.state == "complete" else [self.state]
        when = f"{self.created_at:%d %b %Y %H:%M} UTC"
        return " · ".join([self.agent_name, self.qualifier, *self.labels, *state, when])

    def _repr_html_(self) -> str:
        from .page import study_html

        return study_html(self)

    def __repr__(self) -> str:
        owed = sum(each.is_owed for each in self.calls)
        still = f", {plural(owed, 'call')} still owed" if owed else ""
        return (
            f"StudyResult({self.study_id!r}, {self.agent_name!r}, {self.state}: "
            f"{self.answered} answered, {self.failed} failed{still})"
        )
