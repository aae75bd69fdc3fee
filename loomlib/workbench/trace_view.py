"""The trace of an invocation as a notebook sees it: where the time went, span by span, and what the agent did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..telemetry import cost, diagnosis, traces
from .cards import milliseconds
from .frames import rows_frame
from .trace_look import PART_NAMES, label, share
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

    from ..evals.capture import Conversation
    from .tracer import TracedInvocation


class TraceView:
    """One invocation's trace; made by `Invocation.trace()` and `Agent.traces()`.

    `state` is one of `loomlib.telemetry.TRACE_STATES`; whichever, `breakdown()` adds up to the client's duration, and
    says what is unknown.
    """

    def __init__(
        self,
        found: TracedInvocation,
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
        self._found, self._agent_name, self._labels, self._remedy = found, agent_name, tuple(labels), remedy
        self.rules, self._prices, self._count_tokens = rules, prices, count_tokens

    @property
    def state(self) -> str:
        """How collecting ended (see `loomlib.telemetry.TRACE_STATES`)."""
        return self._found.collected.state

    @property
    def trace(self) -> traces.Trace:
        """The spans in their places; empty when nothing was found."""
        return self._found.collected.trace

    @property
    def client(self) -> traces.ClientTiming | None:
        """What the client measured; None for an invocation that never ended."""
        return None if self._found.client is None else self._found.client.timing

    @cached_property
    def case(self) -> diagnosis.InvocationCase:
        """Trace, breakdown and client's side together: calls, tools, cycles, retries, worked out once."""
        return diagnosis.InvocationCase.of(self.trace, self._found.client)

    @property
    def started_at(self) -> datetime | None:
        """When the request was sent (the client's clock)."""
        sent = self._found.row.client_invoke_time
        return None if sent is None else datetime.fromtimestamp(sent, UTC)

    @property
    def invocation_id(self) -> int:
        """The id of the stored invocation."""
        return self._found.row.id

    @property
    def agent_name(self) -> str:
        """Who was asked, as the catalog calls it."""
        return self._agent_name

    @property
    def session_id(self) -> str:
        """The runtime session."""
        return self._found.row.session_id

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Records that look like spans and are none, with what is wrong."""
        return self._found.collected.unreadable

    def captured(self) -> Conversation:
        """What was asked and answered, with its tools: `EvalSet.capture` takes it."""
        from .conversations import conversation_of

        return conversation_of([self._found.row], self._agent_name, {self.invocation_id: self.trace})

    def breakdown(self) -> traces.Breakdown:
        """Where the time went: model, tools, memory, agent overhead, cold start, service and network, unknown.

        inv.trace().breakdown()["model"].share
        """
        return self.case.breakdown

    def trajectory(self) -> traces.Trajectory:
        """What the agent did: messages, tool calls with arguments and results, the final answer."""
        return traces.trajectory(self.trace)

    def findings(self) -> diagnosis.Diagnosis:
        """Why it took its time: the costliest cause first, each with its evidence and what to try."""
        return diagnosis.diagnose(self.case, rules=self.rules)

    def cost(
        self,
        *,
        prices: cost.PriceTable | None = None,
        runtime: cost.RuntimeUse | None = None,
        priced_as: str | None = None,
        count_missing: bool = False,
    ) -> cost.Cost:
        """What it cost by a dated price table; what has no known price or quantity is unknown, not zero.

        `priced_as` names a model for a "what if". `runtime` is its CPU and memory; where it is not given the
        runtime's usage log is asked, and without one it is unknown.
        `count_missing` has Bedrock count the tokens of calls whose spans do not state them.

            inv.trace().cost().total
        """
        return cost.cost_of(
            self.trace,
            prices=prices or self._prices,
            runtime=runtime or self.runtime_use(),
            count_tokens=self._count_tokens if count_missing else None,
            is_simulated=any("simulated" in each for each in self._labels),
            priced_as=priced_as,
        )

    def runtime_use(self) -> cost.RuntimeUse | None:
        """CPU and memory of this invocation by the runtime's usage log, unknown where none tells."""
        if self._use is None and self._find_use is not None:
            found = self._find_use()
            if found.vcpu_s is None:
                return found  # its record may still be on its way
            self._use = found
        return self._use

    def bars(self) -> tuple[traces.Bar, ...]:
        """The waterfall: one bar a span, parents before their children."""
        return traces.waterfall(self.trace, self.client)

    def spans(self) -> pd.DataFrame:
        """One row a span."""
        return rows_frame(self.trace.table(), SPAN_COLUMNS)

    def parts(self) -> pd.DataFrame:
        """One row a part of the breakdown."""
        return rows_frame(self.breakdown().table())

    def costs(self) -> pd.DataFrame:
        """One row an item of the cost."""
        return rows_frame(self.cost().table())

    def causes(self) -> pd.DataFrame:
        """One row a finding, the costliest first."""
        return rows_frame(self.findings().table(), CAUSE_COLUMNS)

    def model_calls(self) -> pd.DataFrame:
        """One row a model call: tokens, time to first token, streaming share, cycle, attempt."""
        return rows_frame([model_call_row(call) for call in self.case.calls], MODEL_CALL_COLUMNS)

    def tool_calls(self) -> pd.DataFrame:
        """One row a run of a tool."""
        return rows_frame([tool_call_row(call) for call in self.case.tools], TOOL_CALL_COLUMNS)

    def cycles(self) -> pd.DataFrame:
        """One row a turn of the agent's loop: how its prompt grew, and how parallel its tools ran."""
        return rows_frame([cycle_row(each) for each in self.case.cycles], CYCLE_COLUMNS)

    def steps(self) -> pd.DataFrame:
        """One row a step of the trajectory."""
        return rows_frame(self.trajectory().table(), STEP_COLUMNS)

    def figure(self) -> go.Figure:
        """The waterfall as a plotly figure."""
        return self.figure_of(self.bars())

    def figure_of(self, bars: Sequence[traces.Bar]) -> go.Figure:
        """The waterfall of these bars alone, below the parts of the whole."""
        from ..telemetry.traces.figures import draw_waterfall

        found = self.breakdown()
        return draw_waterfall(bars, found, title=f"Where {milliseconds(found.total_ms)} went", subtitle=self.title())

    def title(self) -> str:
        """What this is, and what must be said beside its numbers."""
        row = self._found.row
        return " · ".join((self._agent_name, row.qualifier, f"session {row.session_id}", *self._labels))

    def sentences(self) -> list[str]:
        """The answer: where the time went, how sure that is, and what to do when spans are missing."""
        found = self._found.collected
        lines = [self._shares()] if self.breakdown().total_ns else []
        if self.state != "found":
            lines.append(found.sentence())
        if found.is_unconfigured and self._remedy:
            lines.append(self._remedy)
        if found.cut_records:
            told = "1 record carries" if found.cut_records == 1 else f"{found.cut_records:,} records carry"
            lines.append(f"{told} values that were too long to be kept whole: what was said is cut there.")
        if self.unreadable:
            lines.append(f"{len(self.unreadable)} records could not be read: {label(self.unreadable[0])}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """State, parts and spans, ready for JSON."""
        found = self.breakdown()
        return {
            "invocation_id": self.invocation_id,
            "session_id": self.session_id,
            "trace_id": self.trace.trace_id or self._found.row.trace_id,
            "state": self.state,
            "marks": sorted(found.marks),
            "total_ms": found.total_ms,
            "whole": found.whole,
            "parts": found.table(),
            "findings": self.findings().table(),
            "spans": self.trace.table(),
            "sentences": self.sentences(),
        }

    def _shares(self) -> str:
        found = self.breakdown()
        parts = sorted((part for part in found.parts if part.duration_ns), key=lambda part: -part.duration_ns)
        said = ", ".join(f"{PART_NAMES[part.name]} {share(part.share)}" for part in parts)
        return f"Of {milliseconds(found.total_ms)}: {said}."

    def __repr__(self) -> str:
        return f"<Trace of {self._agent_name}: {self.state}, {len(self.trace.spans)} spans. {self._shares()}>"

    def __str__(self) -> str:
        parts = [
            f"{PART_NAMES[part.name]:<20}{milliseconds(part.duration_ms):>10}{share(part.share):>10}"
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
        )
