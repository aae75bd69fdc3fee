"""From 5 to 100 tools at once: durations of model calls and tools, compared with a published run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from loomlib.experiments import MachineConditions, StudyConditions
from loomlib.presentation.formats import milliseconds, number, plural
from loomlib.telemetry.traces import Trajectory
from loomlib.workbench import Agent
from loomlib.workbench.trace_view import TraceView
from loomlib.workbench.tracing import find_traces

from .agent_traces import load_of, load_sentence
from .displays import Listing, Verdict
from .gates import judge_durations
from .scaling_figure import scaling_figure
from .scaling_runs import PUBLISHED, TOOL_MS, ScalingRun

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


FORMAT = "loom.parallel-tools/1"


@dataclass(frozen=True, kw_only=True)
class ToolScaling:
    """A study of one agent with an increasing number of tools at once.

    Attributes:
        runs: The measurements.
        failures: The invocations that failed, with their errors.
        title: Agent, endpoint and labels.
        simulated: Whether the model is simulated.
        load: The load on the client's machine when the measured invocations began; None when it is unknown.

    Examples:
        >>> study = ToolScaling.run(agent, counts=[5, 25, 100])
        >>> study.table()
    """

    runs: Sequence[ScalingRun]
    failures: Sequence[str]
    title: str
    simulated: bool
    load: MachineConditions | None = None

    @classmethod
    def run(cls, agent: Agent, *, counts: Sequence[int], repeats: int = 1) -> ToolScaling:
        """Request each number of tools in one session that an untimed invocation opened, smallest number first.

        Args:
            agent: The agent of the blueprint.
            counts: The numbers of tools.
            repeats: How often to measure each.
        """
        if repeats < 1 or not counts or min(counts) < 1:
            raise ValueError("counts must be at least 1, and repeats too")
        session_id = agent.invoke("Read 1 sensor").session_id
        requested = [count for count in sorted(counts) for _ in range(repeats)]
        invocations = [agent.invoke(f"Read {count} sensors at once", session_id=session_id) for count in requested]
        agent.end_session(session_id)
        rows = [agent.context.store.invocations.get(invocation.record.id) for invocation in invocations]
        answered_rows = [
            (count, row) for count, row in zip(requested, rows, strict=True) if row and row.status == "complete"
        ]
        views = find_traces(agent.context, agent.entry, [row for _, row in answered_rows])
        return cls(
            runs=[_read(count, view) for (count, _), view in zip(answered_rows, views, strict=True)],
            failures=[
                f"{count} tools: {invocation.error}"
                for count, invocation in zip(requested, invocations, strict=True)
                if not invocation.ok
            ],
            title=" · ".join([agent.name, agent.qualifier, *agent.context.labels]),
            simulated=any("simulated" in label for label in agent.context.labels),
            load=load_of(agent, [row for row in rows if row]),
        )

    @property
    def known(self) -> list[ScalingRun]:
        """The runs whose spans were found."""
        return [run for run in self.runs if run.state in ("found", "partial")]

    @property
    def conditions(self) -> StudyConditions:
        """The load as a condition that may have disturbed the times."""
        return StudyConditions((self.load,) if self.load else ())

    def sentences(self) -> list[str]:
        """Return sentences on overload, growth with the number of tools, concurrency, and simulated parts."""
        if not self.known:
            return ["No run has spans, so model time and tool time cannot be separated.", *self.failures[:3]]
        most = max(run.asked for run in self.known)
        last = [run for run in self.known if run.asked == most]
        tools, total = _median(last, "tools_ms"), _median(last, "total_ms")
        model = _median(last, "first_ms") + _median(last, "second_ms")
        threads = max((run.threads or 0 for run in last), default=0)
        runs = "in a single run" if len(last) == 1 else f"in the median of {len(last)} runs"
        overload = self.conditions.sentence()
        sentences = [
            *([overload] if overload else []),
            f"{plural(most, 'tool')} of {milliseconds(TOOL_MS)} took {milliseconds(tools)} together, of "
            f"{milliseconds(total)} in all, {runs}{_spread(last)}; one after another they would take "
            f"{milliseconds(most * TOOL_MS)}.",
        ]
        if threads:
            rounds = math.ceil(most / threads)
            sentences.append(
                f"They ran on {plural(threads, 'thread')}, {plural(rounds, 'round')} of {milliseconds(TOOL_MS)}, "
                f"although {number(max(run.open_at_once for run in last), 0)} spans were open at once."
            )
        model_note = (
            "The model is simulated here" if self.simulated else f"The model's two calls took {milliseconds(model)}"
        )
        sentences.append(f"{model_note}; in the field note's run its two calls took 36.0 s of 40.3 s with 100 tools.")
        if self.failures:
            sentences.append(f"{plural(len(self.failures), 'call')} failed: {self.failures[0]}")
        return sentences

    def verdict(self, *, max_p90_tools_ms: float = 0.0, allow_overload: bool = False) -> Verdict:
        """Return the answer as a box.

        Args:
            max_p90_tools_ms: The limit of the tools' time in the runs with the most tools; 0 for no gate.
            allow_overload: Whether to decide the gate also when the machine was overloaded.
        """
        most = max((run.asked for run in self.known), default=0)
        tools_ms = [run.tools_ms for run in self.known if run.asked == most]
        gates = [judge_durations(tools_ms, max_p90_tools_ms)] if max_p90_tools_ms else []
        if not allow_overload:
            gates = [gate.under(self.conditions) for gate in gates]
        return Verdict(
            title=self.title,
            sentences=self.sentences(),
            gates=[(gate.outcome, gate.sentence()) for gate in gates],
            summary={**self.summary(), "gates": [gate.summary() for gate in gates]},
        )

    def table(self) -> pd.DataFrame:
        """Return one row per number of tools, with medians over the repeats."""
        import pandas as pd

        rows: list[dict[str, str]] = []
        for count in sorted({run.asked for run in self.known}):
            runs = [run for run in self.known if run.asked == count]
            tokens = [run.tokens_read for run in runs if run.tokens_read is not None]
            threads = [run.threads for run in runs if run.threads is not None]
            rows.append(
                {
                    "tools": number(count, 0),
                    "runs": number(len(runs), 0) if len(runs) > 1 else "single run",
                    "whole ms": number(_median(runs, "total_ms")),
                    "model 1st ms": number(_median(runs, "first_ms")),
                    "tools ms": number(_median(runs, "tools_ms")),
                    "model 2nd ms": number(_median(runs, "second_ms")),
                    "threads": number(max(threads), 0) if threads else "–",
                    "tokens read": number(median(tokens), 0) if tokens else "–",
                }
            )
        return pd.DataFrame(rows or [{"tools": "no run has spans"}]).set_index("tools")

    def reference(self) -> pd.DataFrame:
        """Return the published figures in the same form: single runs on AgentCore with Claude Sonnet 4."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "tools": number(count, 0),
                    "whole ms": number(whole, 0),
                    "model 1st ms": number(first, 0),
                    "model 2nd ms": number(second, 0),
                    "tokens read": number(read, 0),
                }
                for count, (whole, first, second, read) in PUBLISHED.items()
            ]
        ).set_index("tools")

    def figure(self) -> go.Figure:
        """Draw all parts by number of tools, with the published run dashed."""
        return scaling_figure(self.known, PUBLISHED, subtitle=self.title)

    def limits(self) -> Listing:
        """Return how these numbers were measured, and their limits."""
        limits = [
            "The tools only wait and need no CPU; tools that compute would compete for Python's GIL.",
            "A tool's span starts when it is submitted to the pool, not when a thread runs it, so many can be open.",
            "Python's default pool has min(32, CPUs + 4) threads, so other machines run more or fewer tools at once.",
            "The field note's figures are single runs with another model and other hardware: compare the shape only.",
            load_sentence(self.load),
        ]
        if self.simulated:
            limits.insert(0, "The model is simulated: its time is a setting, and only tool time is measured.")
        return Listing(items=[("", limit, "") for limit in limits])

    def summary(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "format": FORMAT,
            "title": self.title,
            "simulated": self.simulated,
            "machine": self.conditions.summary(),
            "sentences": self.sentences(),
            "runs": [{name: getattr(run, name) for name in ScalingRun.__slots__} for run in self.runs],
            "failures": list(self.failures),
            "field_note": [
                {"tools": count, "whole_ms": whole, "model_first_ms": first, "model_second_ms": second, "tokens": read}
                for count, (whole, first, second, read) in PUBLISHED.items()
            ],
        }


def _read(count: int, view: TraceView) -> ScalingRun:
    calls = [call for call in view.case.calls if not call.is_failed]
    turns = [cycle.tools for cycle in view.case.cycles]
    return ScalingRun(
        asked=count,
        ran=len(view.case.tools),
        total_ms=view.breakdown().total_ms,
        first_ms=calls[0].duration_ms if calls else 0.0,
        second_ms=sum(call.duration_ms for call in calls[1:]),
        tools_ms=view.breakdown()["tools"].duration_ms,
        open_at_once=max((turn.most_at_once for turn in turns), default=0),
        threads=_threads(view.trajectory()),
        tokens_read=sum(call.input_tokens or 0 for call in calls) or None,
        state=view.state,
    )


def _threads(trajectory: Trajectory) -> int | None:
    """Return the number of threads that the tools' results name."""
    names = {name for exchange in trajectory.tool_calls for name in _tool_names(exchange.result)}
    return len(names) or None


def _tool_names(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            return _tool_names(json.loads(value)) if value.lstrip().startswith(("{", "[")) else []
        except ValueError:
            return []
    if isinstance(value, Mapping):
        own = value.get("thread")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(own, str):
            return [own]
        return [name for item in value.values() for name in _tool_names(item)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(value, list | tuple):
        return [name for item in value for name in _tool_names(item)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return []


def _spread(runs: Sequence[ScalingRun]) -> str:
    """Return the range of the tools' time over several runs; too few for an interval."""
    times = [run.tools_ms for run in runs]
    return f" ({milliseconds(min(times))} to {milliseconds(max(times))})" if len(times) > 1 else ""


def _median(runs: Sequence[ScalingRun], name: str) -> float:
    return median(float(getattr(run, name)) for run in runs)
