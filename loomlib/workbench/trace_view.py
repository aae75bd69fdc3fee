"""The trace of one invocation: where the time went, its spans, and what the agent did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..deprecation import renamed_members
from ..evals.capture import Conversation
from ..presentation.formats import milliseconds, percent, plural
from ..presentation.text import one_line
from ..telemetry import cost, diagnosis, traces
from ..telemetry.session_starts import SessionStartRecord
from ..telemetry.traces.figures import draw_waterfall
from .conversations import conversation_of
from .frames import rows_frame
from .trace_finder import TracedInvocation
from .trace_look import PART_NAMES
from .trace_page import trace_page
from .trace_rows import (
    CAUSE_COLUMNS,
    CYCLE_COLUMNS,
    MODEL_CALL_COLUMNS,
    SPAN_COLUMNS,
    STEP_COLUMNS,
    TOOL_CALL_COLUMNS,
    cycle_row,
    model_call_row,
    tool_call_row,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class TraceView:
    """One invocation's trace; returned by `Invocation.trace()`.

    `state` is one of `loomlib.telemetry.TRACE_STATES`. In every state `breakdown()` adds up to the client's
    duration and names what is unknown.
    """

    def __init__(
        self,
        traced: TracedInvocation,
        *,
        agent_name: str,
        labels: Sequence[str],
        remedy: str,
        count_tokens: cost.CountTokens | None = None,
        rules: diagnosis.RuleBook | None = None,
        prices: cost.PriceTable | None = None,
        find_use: Callable[[], cost.RuntimeUse] | None = None,
    ) -> None:
        self._find_use = find_use
        self._use: cost.RuntimeUse | None = None
        self._traced, self._agent_name, self._labels, self._remedy = traced, agent_name, tuple(labels), remedy
        self.rules, self._prices, self._count_tokens = rules, prices, count_tokens

    @property
    def state(self) -> str:
        """The result of the search for spans (see `loomlib.telemetry.TRACE_STATES`)."""
        return self._traced.collected.state

    @property
    def trace(self) -> traces.Trace:
        """The tree of spans; empty when none were found."""
        return self._traced.collected.trace

    @property
    def client(self) -> traces.ClientTiming | None:
        """The client's timing, or None for an invocation that never ended."""
        return None if self._traced.client is None else self._traced.client.timing

    @cached_property
    def case(self) -> diagnosis.InvocationCase:
        """Trace, breakdown and client timing, with calls, tools, cycles and retries."""
        return diagnosis.InvocationCase.of(self.trace, self._traced.client)

    @property
    def started_at(self) -> datetime | None:
        """When the request was sent (the client's clock)."""
        sent_s = self._traced.row.client_invoke_time
        return None if sent_s is None else datetime.fromtimestamp(sent_s, UTC)

    @property
    def invocation_id(self) -> int:
        """The id of the stored invocation."""
        return self._traced.row.id

    @property
    def agent_name(self) -> str:
        """The agent's name in the catalog."""
        return self._agent_name

    @property
    def session_id(self) -> str:
        """The runtime session."""
        return self._traced.row.session_id

    @property
    def session_start(self) -> SessionStartRecord | None:
        """How the session's process started in this invocation; None for a warm call and where it is not recorded.

        The local AgentCore records it; on AWS the breakdown's cold start is all that can be seen from outside.
        """
        return self._traced.start

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Records that could not be read as spans, with the reason."""
        return self._traced.collected.unreadable

    def conversation(self) -> Conversation:
        """Return prompt and answer with the tool calls, as `EvalSet.capture` takes them."""
        return conversation_of([self._traced.row], self._agent_name, {self.invocation_id: self.trace})

    def breakdown(self) -> traces.Breakdown:
        """Return where the time went: model, tools, memory, agent, cold start, service and network, unknown.

        Examples:
            >>> inv.trace().breakdown()["model"].share
        """
        return self.case.breakdown

    def trajectory(self) -> traces.Trajectory:
        """Return what the agent did: messages, tool calls with arguments and results, the answer."""
        return traces.trajectory(self.trace)

    def findings(self) -> diagnosis.Diagnosis:
        """Return the causes of the duration, the costliest first, each with evidence and advice."""
        return diagnosis.diagnose(self.case, rules=self.rules)

    def cost(
        self,
        *,
        prices: cost.PriceTable | None = None,
        runtime: cost.RuntimeUse | None = None,
        priced_as: str | None = None,
        count_missing: bool = False,
    ) -> cost.Cost:
        """Return the cost by a dated price table; an item without price or quantity is unknown, not zero.

        Args:
            prices: The prices; the workbench's by default.
            runtime: CPU and memory; read from the runtime's usage log by default.
            priced_as: A model whose prices to use instead.
            count_missing: Let Bedrock count the tokens of calls whose spans do not state them.

            inv.trace().cost().total
        """
        return cost.cost_of(
            self.trace,
            prices=prices or self._prices,
            runtime=runtime or self.runtime_use(),
            count_tokens=self._count_tokens if count_missing else None,
            is_simulated=cost.is_unbilled(self._labels),
            priced_as=priced_as,
        )

    def runtime_use(self) -> cost.RuntimeUse | None:
        """Return this invocation's CPU and memory use from the runtime's usage log, where available."""
        if self._use is None and self._find_use is not None:
            use = self._find_use()
            if use.vcpu_s is None:
                return use  # its record may not have arrived yet
            self._use = use
        return self._use

    def bars(self) -> tuple[traces.Bar, ...]:
        """Return the waterfall, one bar per span, parents before their children."""
        return traces.waterfall(self.trace, self.client)

    def start_bars(self) -> tuple[traces.Bar, ...]:
        """Return the parts of the session's start as bars at their true times; none where they are not recorded."""
        zero_ns = self.breakdown().start_ns
        return tuple(
            traces.Bar(
                span_id=f"start {part.name}",
                label=part.label,
                operation="other",
                part="cold_start",
                depth=0,
                start_ms=(part.start_ns - zero_ns) / 1e6,
                duration_ms=part.duration_ms,
                is_failed=False,
                marks=frozenset(),
            )
            for part in (self.session_start.parts if self.session_start is not None else ())
        )

    def spans(self) -> pd.DataFrame:
        """Return one row per span."""
        return rows_frame(self.trace.table(), SPAN_COLUMNS)

    def parts(self) -> pd.DataFrame:
        """Return one row per part of the breakdown."""
        return rows_frame(self.breakdown().table())

    def costs(self) -> pd.DataFrame:
        """Return one row per item of the cost."""
        return rows_frame(self.cost().table())

    def causes(self) -> pd.DataFrame:
        """Return the findings as a table, one row each, the costliest first."""
        return rows_frame(self.findings().table(), CAUSE_COLUMNS)

    def model_calls(self) -> pd.DataFrame:
        """Return one row per model call: tokens, time to first token, streaming share, cycle, attempt."""
        return rows_frame([model_call_row(call) for call in self.case.calls], MODEL_CALL_COLUMNS)

    def tool_calls(self) -> pd.DataFrame:
        """Return one row per tool call."""
        return rows_frame([tool_call_row(call) for call in self.case.tools], TOOL_CALL_COLUMNS)

    def artifacts(self) -> tuple[traces.ToolArtifacts, ...]:
        """Return the files and images of code interpreters and browsers, by the tool run that created them.

        The local AgentCore records them; AWS telemetry does not contain them.
        """
        return traces.tool_artifacts(self.trace)

    def cycles(self) -> pd.DataFrame:
        """Return one row per cycle of the agent's loop: growth of the prompt, parallelism of the tools."""
        return rows_frame([cycle_row(cycle) for cycle in self.case.cycles], CYCLE_COLUMNS)

    def steps(self) -> pd.DataFrame:
        """Return one row per step of the trajectory."""
        return rows_frame(self.trajectory().table(), STEP_COLUMNS)

    def figure(self) -> go.Figure:
        """Return the waterfall as a plotly chart, with the parts of the session's start where they are recorded."""
        return self.figure_of((*self.start_bars(), *self.bars()))

    def figure_of(self, bars: Sequence[traces.Bar]) -> go.Figure:
        """Return a plotly chart of these bars only, below the parts of the breakdown."""
        breakdown = self.breakdown()
        return draw_waterfall(
            bars, breakdown, title=f"Where {milliseconds(breakdown.total_ms)} went", subtitle=self.title()
        )

    def title(self) -> str:
        """Return agent, endpoint, session and provenance labels in one line."""
        row = self._traced.row
        return " · ".join((self._agent_name, row.qualifier, f"session {row.session_id}", *self._labels))

    def sentences(self) -> list[str]:
        """Return where the time went, how certain that is, and how to get missing spans."""
        collected = self._traced.collected
        lines = [self._shares()] if self.breakdown().total_ns else []
        if self.session_start is not None:
            lines.append(self.session_start.sentence())
        if self.state != "found":
            lines.append(collected.sentence())
        if collected.is_unconfigured and self._remedy:
            lines.append(self._remedy)
        if collected.cut_records:
            lines.append(
                f"{plural(collected.cut_records, 'record')} with truncated values: too long to be exported in full."
            )
        if self.unreadable:
            lines.append(f"{plural(len(self.unreadable), 'record')} could not be read: {one_line(self.unreadable[0])}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return state, parts and spans, ready for JSON."""
        breakdown = self.breakdown()
        return {
            "invocation_id": self.invocation_id,
            "session_id": self.session_id,
            "trace_id": self.trace.trace_id or self._traced.row.trace_id,
            "state": self.state,
            "marks": sorted(breakdown.marks),
            "total_ms": breakdown.total_ms,
            "whole": breakdown.whole,
            "parts": breakdown.table(),
            "session_start": None if self.session_start is None else self.session_start.stored(),
            "findings": self.findings().table(),
            "spans": self.trace.table(),
            "sentences": self.sentences(),
        }

    def _shares(self) -> str:
        breakdown = self.breakdown()
        parts = sorted((part for part in breakdown.parts if part.duration_ns), key=lambda part: -part.duration_ns)
        shares = ", ".join(f"{PART_NAMES[part.name]} {percent(part.share)}" for part in parts)
        return f"Of {milliseconds(breakdown.total_ms)}: {shares}."

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return renamed_members(self, {"captured": "conversation"}, name)

    def __repr__(self) -> str:
        return f"<Trace of {self._agent_name}: {self.state}, {len(self.trace.spans)} spans. {self._shares()}>"

    def __str__(self) -> str:
        parts = [
            f"{PART_NAMES[part.name]:<20}{milliseconds(part.duration_ms):>10}{percent(part.share):>10}"
            f"  {part.certainty}: {part.derived_from}"
            for part in self.breakdown().parts
        ]
        return "\n".join([self.title(), *self.sentences(), *parts])

    def _repr_html_(self) -> str:
        has_spans = bool(self.trace.spans)
        return trace_page(
            title=self.title(),
            sentences=self.sentences(),
            breakdown=self.breakdown(),
            findings=self.findings().findings if has_spans else None,
            cost=self.cost() if has_spans else None,
            bars=self.bars(),
            artifacts=self.artifacts(),
        )
