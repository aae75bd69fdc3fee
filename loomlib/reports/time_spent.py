"""Where an agent's time went over its last invocations: the answer, the parts, the causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.errors import LoomError
from loomlib.latency.inside import Inside, look_inside, spans_sentence
from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.presentation.text import one_line
from loomlib.telemetry.diagnosis import Diagnosis, LatencyFinding, diagnose_study
from loomlib.workbench.tracing import find_traces

from .displays import Listing, Verdict
from .gates import judge_durations
from .session_story import SessionStory
from .time_figures import every_invocation

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.store import InvocationRow
    from loomlib.workbench import Agent
    from loomlib.workbench.trace_view import TraceView

FORMAT = "loom.where-time-goes/1"
NUMBERS = "①②③④⑤⑥⑦⑧⑨⑩"
_WITH_SPANS = ("found", "partial")


@dataclass(frozen=True, kw_only=True)
class TimeSpent:
    """An agent's last invocations with their traces, the oldest first. Only answered ones with spans are in a number.

    >>> spent = TimeSpent.of(agent, last=20)
    >>> spent.table()
    """

    agent: Agent
    rows: Sequence[InvocationRow]
    views: Sequence[TraceView]

    @classmethod
    def of(cls, agent: Agent, *, last: int = 20, session_id: str = "") -> TimeSpent:
        """The `last` stored invocations (of a session); `LoomError` when there is none."""
        rows = [*agent.context.store.invocations.list(agent.entry.id, session_id or None, limit=max(1, last))]
        rows.reverse()
        if not rows:
            raise LoomError("No invocation is stored", on=session_id or agent.name, try_='agent.invoke("…")')
        return cls(agent=agent, rows=rows, views=find_traces(agent.context, agent.entry, rows))

    @cached_property
    def known(self) -> list[TraceView]:
        """The answered invocations whose spans were found."""
        return [
            view
            for row, view in zip(self.rows, self.views, strict=True)
            if row.status == "complete" and view.state in _WITH_SPANS and view.breakdown().total_ns
        ]

    @cached_property
    def inside(self) -> Inside:
        """Each part over the invocations, with intervals."""
        return look_inside([view.breakdown() for view in self.known], seed=0)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The causes over the invocations, the costliest first."""
        return diagnose_study([view.case for view in self.known], rules=self.known[0].rules if self.known else None)

    @property
    def title(self) -> str:
        """`assistant · DEFAULT · local AgentCore · … · last 8 invocations`."""
        what = f"last {plural(len(self.rows), 'invocation')}" if len(self.rows) > 1 else "last invocation"
        return " · ".join([self.agent.name, self.agent.qualifier, *self.agent.labels, what])

    @property
    def states(self) -> dict[str, int]:
        """How the search for the spans of each invocation ended."""
        return dict(Counter(view.state for view in self.views))

    def sentences(self) -> list[str]:
        """The answer: where the time goes, the first cause, and what is missing."""
        if not self.known:
            return self._nothing()
        first = self.diagnosis.first
        told = [self.inside.sentence()]
        if first is not None:
            told.append(
                f"First to look at ({milliseconds(first.ms_at_stake)} at stake, {percent(first.share)} of the time, "
                f"in {first.affected} of {plural(first.of, 'invocation')}): {plain_title(first)}."
            )
        if len(self.known) < len(self.rows):
            told.append(self.coverage())
        return told

    def coverage(self) -> str:
        """How many invocations have spans, and how many failed."""
        failed = sum(row.status == "error" for row in self.rows)
        with_spans = sum(view.state in _WITH_SPANS for view in self.views)
        told = spans_sentence(with_spans, len(self.rows), self.states)
        return f"{told} Failed and in no number: {plural(failed, 'call')}." if failed else told

    def verdict(self, *, max_p90_ms: float = 0.0) -> Verdict:
        """The answer in a box, judged by the gate when one is given; the summary travels with it."""
        durations = [row.client_duration_ms for row in self.rows if row.status == "complete"]
        gates = [judge_durations([each for each in durations if each is not None], max_p90_ms)] if max_p90_ms else []
        return Verdict(
            title=self.title,
            sentences=self.sentences(),
            gates=[(gate.outcome, gate.sentence()) for gate in gates],
            summary={**self.summary(), "gates": [gate.summary() for gate in gates]},
        )

    def table(self) -> pd.DataFrame:
        """One row a part: its share of all time, its median milliseconds and share in a call, how it is known."""
        import pandas as pd

        rows = self.inside.rows() or [{"part": "nothing", "how it is known": "no invocation has spans"}]
        return pd.DataFrame(rows).set_index("part")

    def figure(self) -> go.Figure:
        """Every invocation as a stacked bar of its parts, in the order in which they were made."""
        return every_invocation(self.known, subtitle=self.title)

    def findings(self) -> Listing:
        """The causes, ranked by the milliseconds at stake, each with evidence, confidence and what to try."""
        return finding_list(self.diagnosis, nothing=self._nothing_found())

    def session(self, session_id: str = "") -> SessionStory:
        """One session step by step: the one asked for, else the one that the slowest invocation belongs to."""
        pool = self.known or self.views
        slowest = max(pool, key=lambda view: view.breakdown().total_ns)
        chosen = session_id or slowest.session_id
        pairs = [(row, view) for row, view in zip(self.rows, self.views, strict=True) if row.session_id == chosen]
        return SessionStory(session_id=chosen, rows=[row for row, _ in pairs], views=[view for _, view in pairs])

    def limits(self) -> Listing:
        """What this page cannot tell."""
        told = [*self.diagnosis.limits] if self.known else []
        told += [
            "Parts are shares of elapsed time: two tools at once count once, and what a tool waits for is the tool's.",
            "The last invocations are no sample of your users': what they asked decides what is slow.",
        ]
        if any("simulated" in label for label in self.agent.labels):
            told.append("The model is simulated: its part of the time is a setting, not a measurement.")
        if self.agent.context.where == "local":
            told.append(
                "The agent ran on this machine: network, microVM and AWS's own queues are not in these numbers."
            )
        return Listing(items=[("", f"{limit.rstrip('.')}.", "") for limit in told])

    def summary(self) -> dict[str, Any]:
        """Everything but single spans as JSON-ready values."""
        return {
            "format": FORMAT,
            "agent": {"name": self.agent.name, "arn": self.agent.arn, "qualifier": self.agent.qualifier},
            "labels": list(self.agent.labels),
            "sentences": self.sentences(),
            "states": self.states,
            "failed": sum(row.status == "error" for row in self.rows),
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
        told = [
            f"None of the last {plural(len(self.rows), 'invocation')} of {self.agent.name} has spans, so where "
            "their time went is not known."
        ]
        return [*told, *dict.fromkeys(line for view in self.views[-1:] for line in view.sentences()[1:])]

    def _nothing_found(self) -> str:
        return "No rule found a cause worth telling." if self.known else "Without spans no cause can be told."


def plain_title(finding: LatencyFinding) -> str:
    """A finding's title in one line, without the marks of code, which a page would show as they are."""
    return one_line(finding.title.replace("`", ""))


def finding_list(diagnosis: Diagnosis, *, nothing: str) -> Listing:
    """Findings as a numbered list."""
    return Listing(
        items=[
            (
                f"{NUMBERS[rank]} {plain_title(each)}." if rank < len(NUMBERS) else f"{plain_title(each)}.",
                f"{milliseconds(each.ms_at_stake)} at stake ({percent(each.share)}). "
                + _sentence("; ".join(evidence.text for evidence in each.evidence[:6]))
                + f" Confidence {each.confidence}: {each.because}.",
                " ".join(map(_sentence, each.try_)),
            )
            for rank, each in enumerate(diagnosis.findings)
        ],
        nothing=nothing,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
