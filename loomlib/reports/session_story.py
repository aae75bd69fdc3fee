"""One session step by step: its invocations, the slowest one's timeline, prompt growth, and tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.presentation.text import one_line
from loomlib.store import InvocationRow
from loomlib.telemetry.traces import ToolCall
from loomlib.telemetry.traces.part_styles import PART_NAMES

from .displays import Listing
from .finding_lists import NUMBERS, finding_list
from .time_figures import SHOWN_SPANS, annotated, bars_to_draw, token_growth

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.workbench.trace_view import TraceView


_NOTHING = "–"


@dataclass(frozen=True, kw_only=True)
class SessionStory:
    """The invocations of one session, oldest first.

    Attributes:
        session_id: The session.
        rows: The stored invocations.
        views: Their traces, in the same order.
    """

    session_id: str
    rows: Sequence[InvocationRow]
    views: Sequence[TraceView]

    @cached_property
    def slowest(self) -> TraceView:
        """The slowest invocation, whose timeline is shown."""
        return max(self.views, key=lambda view: view.breakdown().total_ns)

    def sentence(self) -> str:
        """Return the session's id, the number of its invocations, and the one that is drawn."""
        place = self.views.index(self.slowest) + 1
        spans = len(self.slowest.trace.spans)
        cut = (
            f" Of its {number(spans, 0)} spans, the {SHOWN_SPANS} most important are shown."
            if spans > SHOWN_SPANS
            else ""
        )
        return (
            f"Session {self.session_id}: {plural(len(self.views), 'invocation')}, "
            f"{milliseconds(sum(view.breakdown().total_ms for view in self.views))} in all. Shown is number {place}, "
            f"the slowest ({milliseconds(self.slowest.breakdown().total_ms)}).{cut}"
        )

    def invocations(self) -> pd.DataFrame:
        """Return one row per invocation: its prompt, duration, largest part and first finding."""
        return _frame([self._row(*pair) for pair in zip(self.rows, self.views, strict=True)], index="after")

    def timeline(self) -> go.Figure:
        """Return the slowest invocation's waterfall, with the findings' numbers at their spans."""
        return annotated(self.slowest, NUMBERS)

    def spans(self) -> pd.DataFrame:
        """Return the timeline as a table: the spans that are drawn, in order."""
        return _frame(
            [
                {
                    "span": "· " * min(bar.depth, 8) + one_line(bar.label),
                    "part": PART_NAMES[bar.part],
                    "after ms": number(bar.start_ms),
                    "took ms": number(bar.duration_ms),
                    "remarks": ", ".join([*(["failed"] if bar.is_failed else []), *sorted(bar.marks)]) or _NOTHING,
                }
                for bar in bars_to_draw(self.slowest)
            ],
            index="span",
        )

    def findings(self) -> Listing:
        """Return the causes of the slowest invocation's duration."""
        return finding_list(
            self.slowest.findings(), nothing="No rule found a cause above its thresholds in this invocation."
        )

    def growth(self) -> pd.DataFrame:
        """Return one row per cycle: tokens read and written, and the growth since the previous cycle."""
        return _frame(
            [
                {
                    "turn": f"{cycle['invocation']}.{cycle['turn']}",
                    "tokens read": _count(cycle["read"]),
                    "more than before": _signed(cycle["growth"]),
                    "tokens written": _count(cycle["written"]),
                    "model ms": number(cycle["model_ms"]),
                    "first token ms": _NOTHING if cycle["ttft_ms"] is None else number(cycle["ttft_ms"]),
                    "tools called": number(cycle["tools"], 0),
                }
                for cycle in self._cycles
            ],
            index="turn",
        )

    def growth_figure(self) -> go.Figure:
        """Draw the growth as bars."""
        return token_growth(self._cycles, subtitle=self.slowest.title())

    def tools(self) -> pd.DataFrame:
        """Return one row per tool: number of calls, durations, and failures."""
        calls: dict[str, list[ToolCall]] = {}
        for view in self.views:
            for call in view.case.tools:
                calls.setdefault(call.name, []).append(call)
        most = sorted(calls.items(), key=lambda item: -sum(call.duration_ms for call in item[1]))
        return _frame(
            [
                {
                    "tool": one_line(name),
                    "runs": number(len(runs), 0),
                    "median ms": number(median(call.duration_ms for call in runs)),
                    "longest ms": number(max(call.duration_ms for call in runs)),
                    "together ms": number(sum(call.duration_ms for call in runs)),
                    "failed": number(sum(call.status == "error" for call in runs), 0),
                }
                for name, runs in most[:SHOWN_SPANS]
            ],
            index="tool",
        )

    def parallelism(self) -> str:
        """Return how far tools ran concurrently."""
        turns = [cycle.tools for view in self.views for cycle in view.case.cycles if cycle.tools.calls > 1]
        if not turns:
            return "No cycle called more than one tool."
        whole, elapsed = sum(turn.sum_ns for turn in turns), sum(turn.elapsed_ns for turn in turns)
        return (
            f"{plural(len(turns), 'cycle')} called several tools: {milliseconds(whole / 1e6)} of tool time in "
            f"{milliseconds(elapsed / 1e6)}, at most {max(turn.most_at_once for turn in turns)} at once."
        )

    @cached_property
    def _cycles(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        before: int | None = None
        for place, view in enumerate(self.views, 1):
            firsts = {call.cycle_span_id or call.span_id: call.ttft_ms for call in reversed(view.case.calls)}
            for cycle in view.case.cycles:
                read = cycle.input_tokens
                rows.append(
                    {
                        "invocation": place,
                        "turn": cycle.number,
                        "read": read,
                        "written": cycle.output_tokens,
                        "growth": None if read is None or before is None else read - before,
                        "model_ms": cycle.model_ns / 1e6,
                        "ttft_ms": firsts.get(cycle.span_id),
                        "tools": cycle.tools.calls,
                    }
                )
                before = read if read is not None else before
        return rows

    def _row(self, row: InvocationRow, view: TraceView) -> dict[str, str]:
        breakdown = view.breakdown()
        largest = max(breakdown.parts, key=lambda part: part.duration_ns)
        first = view.findings().first
        sent = row.client_invoke_time
        began = next((other.client_invoke_time for other in self.rows if other.client_invoke_time is not None), sent)
        return {
            "after": _NOTHING if sent is None or began is None else milliseconds((sent - began) * 1000),
            "asked": one_line(row.prompt or "")[:80] or _NOTHING,
            "took ms": number(breakdown.total_ms) if breakdown.total_ns else _NOTHING,
            "status": row.failure or row.status,
            "spans": view.state.replace("_", " ") if view.state != "found" else number(len(view.trace.spans), 0),
            "largest part": f"{PART_NAMES[largest.name]} {percent(largest.share)}" if breakdown.total_ns else _NOTHING,
            "first finding": one_line(first.title.replace("`", "")) if first else _NOTHING,
        }


def _frame(rows: Sequence[dict[str, str]], *, index: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows or [{index: "nothing", "why": "no span states it"}])
    return frame.set_index(index)


def _count(value: int | None) -> str:
    return _NOTHING if value is None else number(value, 0)


def _signed(value: int | None) -> str:
    return _NOTHING if value is None else f"{'+' if value >= 0 else ''}{number(value, 0)}"
