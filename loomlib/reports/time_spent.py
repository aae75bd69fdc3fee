"""The report on an agent's time over its last invocations: conclusion, parts, and causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError
from loomlib.experiments import MachineConditions, StudyConditions, isolation_notes
from loomlib.latency.breakdown_estimate import BreakdownEstimate, estimate_breakdown, spans_sentence
from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.store import InvocationRow
from loomlib.telemetry.diagnosis import Diagnosis, diagnose_study
from loomlib.workbench import Agent
from loomlib.workbench.trace_view import TraceView
from loomlib.workbench.tracing import find_traces

from .agent_traces import load_of, load_sentence
from .displays import Listing, Verdict
from .finding_lists import finding_list, plain_title
from .gates import judge_durations
from .session_story import SessionStory
from .time_figures import every_invocation

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


FORMAT = "loom.where-time-goes/1"
_WITH_SPANS = ("found", "partial")


@dataclass(frozen=True, kw_only=True)
class TimeSpent:
    """An endpoint's last invocations with their traces, oldest first; only completed ones with spans are counted.

    Attributes:
        agent: The agent.
        rows: The stored invocations.
        views: Their traces, in the same order.

    Examples:
        >>> spent = TimeSpent.of(agent, last=20)
        >>> spent.table()
    """

    agent: Agent
    rows: Sequence[InvocationRow]
    views: Sequence[TraceView]

    @classmethod
    def of(cls, agent: Agent, *, last: int = 20, session_id: str = "") -> TimeSpent:
        """Load the last invocations of an agent's endpoint.

        Args:
            agent: The agent.
            last: How many invocations at most.
            session_id: Only those of this session.

        Raises:
            LoomError: No invocation of this endpoint is stored.
        """
        stored = agent.context.store.invocations.list(
            agent.entry.id, session_id or None, limit=max(1, last), qualifier=agent.qualifier
        )
        rows = stored[::-1]
        if not rows:
            raise LoomError("No invocation is stored", on=session_id or agent.name, try_='agent.invoke("…")')
        return cls(agent=agent, rows=rows, views=find_traces(agent.context, agent.entry, rows))

    @cached_property
    def traced(self) -> list[TraceView]:
        """The completed invocations whose spans were found."""
        return [
            view
            for row, view in zip(self.rows, self.views, strict=True)
            if row.status == "complete" and view.state in _WITH_SPANS and view.breakdown().total_ns
        ]

    @cached_property
    def inside(self) -> BreakdownEstimate:
        """Each part over the invocations, with intervals."""
        return estimate_breakdown([view.breakdown() for view in self.traced])

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The causes over all invocations, the costliest first."""
        return diagnose_study(
            [view.case for view in self.traced],
            rules=self.traced[0].rules if self.traced else None,
        )

    @cached_property
    def load(self) -> MachineConditions | None:
        """The load on the client's machine when the invocations began; None when it is unknown."""
        return load_of(self.agent, self.rows)

    @cached_property
    def conditions(self) -> StudyConditions:
        """The same load as a condition that may have disturbed the times."""
        return StudyConditions((self.load,) if self.load else ())

    @property
    def title(self) -> str:
        """`assistant · DEFAULT · local AgentCore · … · last 8 invocations`."""
        scope = f"last {plural(len(self.rows), 'invocation')}" if len(self.rows) > 1 else "last invocation"
        return " · ".join([self.agent.name, self.agent.qualifier, *self.agent.context.labels, scope])

    @property
    def states(self) -> dict[str, int]:
        """The number of traces in each state."""
        return dict(Counter(view.state for view in self.views))

    def sentences(self) -> list[str]:
        """Return the conclusion: overload, where the time goes, the largest finding, and what is missing."""
        if not self.traced:
            return self._nothing()
        first = self.diagnosis.first
        sentences = [sentence for sentence in (self.conditions.sentence(), self.inside.sentence()) if sentence]
        if first is not None:
            sentences.append(
                f"Largest finding ({milliseconds(first.ms_at_stake)} at stake, {percent(first.share)} of the time, "
                f"over its thresholds in {first.affected} of {plural(first.of, 'invocation')}): {plain_title(first)}."
            )
        if len(self.traced) < len(self.rows):
            sentences.append(self.coverage())
        return sentences

    def coverage(self) -> str:
        """Return how many invocations have spans, and how many failed."""
        failed = sum(row.status == "error" for row in self.rows)
        with_spans = sum(view.state in _WITH_SPANS for view in self.views)
        sentence = spans_sentence(with_spans, len(self.rows), self.states)
        return (
            f"{sentence} {plural(failed, 'invocation')} failed and {'is' if failed == 1 else 'are'} excluded."
            if failed
            else sentence
        )

    def verdict(self, *, max_p90_ms: float = 0.0, allow_overload: bool = False) -> Verdict:
        """Return the answer as a box, with the gate's verdict when one is given.

        Args:
            max_p90_ms: The limit of the 90th percentile of durations in milliseconds; 0 for no gate.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        complete = [row.client_duration_ms for row in self.rows if row.status == "complete"]
        durations = [duration for duration in complete if duration is not None]
        gates = [judge_durations(durations, max_p90_ms)] if max_p90_ms else []
        if not allow_overload:
            gates = [gate.under(self.conditions) for gate in gates]
        return Verdict(
            title=self.title,
            sentences=self.sentences(),
            gates=[(gate.outcome, gate.sentence()) for gate in gates],
            summary={**self.summary(), "gates": [gate.summary() for gate in gates]},
        )

    def table(self) -> pd.DataFrame:
        """Return one row per part: share of all time, median milliseconds and share, and how it is known."""
        import pandas as pd

        rows = self.inside.rows() or [{"part": "none", "how it is known": "no invocation has spans"}]
        return pd.DataFrame(rows).set_index("part")

    def figure(self) -> go.Figure:
        """Return every invocation as a stacked bar of its parts, in order."""
        return every_invocation(self.traced, subtitle=self.title)

    def findings(self) -> Listing:
        """Return the causes, ranked by the milliseconds at stake, each with evidence, confidence and advice."""
        return finding_list(self.diagnosis, nothing=self._nothing_found())

    def session(self, session_id: str = "") -> SessionStory:
        """Return one session step by step: the given one, else the session of the slowest invocation.

        Raises:
            LoomError: None of these invocations is of the given session.
        """
        pool = self.traced or self.views
        slowest = max(pool, key=lambda view: view.breakdown().total_ns)
        chosen = session_id or slowest.session_id
        pairs = [(row, view) for row, view in zip(self.rows, self.views, strict=True) if row.session_id == chosen]
        if not pairs:
            raise LoomError(
                f"None of the last {plural(len(self.rows), 'invocation')} is of this session",
                on=chosen,
                try_="TimeSpent.of(agent, session_id=…)",
            )
        return SessionStory(session_id=chosen, rows=[row for row, _ in pairs], views=[view for _, view in pairs])

    def limits(self) -> Listing:
        """Return the limitations of this page."""
        limits = [*self.diagnosis.limits] if self.traced else []
        limits += [
            "Parts are shares of elapsed time: two tools at once count once, and what a tool waits for is tool time.",
            "The last invocations are not a sample of your users' requests, and the request decides what is slow.",
        ]
        limits += [*isolation_notes(self.agent.context.labels), load_sentence(self.load)]
        if any("simulated" in label for label in self.agent.context.labels):
            limits.append("The model is simulated: its time is a setting, not a measurement.")
        if self.agent.context.where == "local":
            limits.append("The agent ran on this machine: network, microVM and AWS's queues are not in these numbers.")
        return Listing(items=[("", f"{limit.rstrip('.')}.", "") for limit in limits])

    def summary(self) -> dict[str, Any]:
        """Return everything except single spans as JSON-ready values."""
        return {
            "format": FORMAT,
            "agent": {"name": self.agent.name, "arn": self.agent.arn, "qualifier": self.agent.qualifier},
            "labels": list(self.agent.context.labels),
            "sentences": self.sentences(),
            "states": self.states,
            "failed": sum(row.status == "error" for row in self.rows),
            "machine": self.conditions.summary(),
            "inside": self.inside.summary(),
            "findings": self.diagnosis.table(),
            "limits": list(self.diagnosis.limits),
            "invocations": [
                {
                    "invocation_id": view.invocation_id,
                    "session_id": view.session_id,
                    "state": view.state,
                    "total_ms": view.breakdown().total_ms,
                    "parts_ms": {part.name: part.duration_ms for part in view.breakdown().parts},
                }
                for view in self.views
            ],
        }

    def _nothing(self) -> list[str]:
        sentences = [
            f"None of the last {plural(len(self.rows), 'invocation')} of {self.agent.name} has spans, so where "
            "the time went is unknown."
        ]
        return [*sentences, *dict.fromkeys(line for view in self.views[-1:] for line in view.sentences()[1:])]

    def _nothing_found(self) -> str:
        return "No rule found a cause above its thresholds." if self.traced else "Without spans, no cause can be found."
