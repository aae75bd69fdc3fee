"""One session step by step: its invocations, the slowest one's timeline, its prompt's growth, its tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.presentation.text import one_line
from loomlib.telemetry.traces.part_styles import PART_NAMES

from .time_figures import SHOWN_SPANS, annotated, longest_bars, token_growth

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.store import InvocationRow
    from loomlib.telemetry.traces import ToolCall
    from loomlib.workbench.trace_view import TraceView

    from .displays import Listing

_NOTHING = "–"


@dataclass(frozen=True, kw_only=True)
class SessionStory:
    """The invocations of one session, the oldest first."""

    session_id: str
    rows: Sequence[InvocationRow]
    views: Sequence[TraceView]

    @cached_property
    def slowest(self) -> TraceView:
        """The invocation that took longest: the one whose timeline is shown."""
        return max(self.views, key=lambda view: view.breakdown().total_ns)

    def sentence(self) -> str:
        """Which session, how many invocations, and which of them is drawn."""
        place = self.views.index(self.slowest) + 1
        spans = len(self.slowest.trace.spans)
        cut = (
            f" Of its {number(spans, 0)} spans the {SHOWN_SPANS} that matter most are shown."
            if spans > SHOWN_SPANS
            else ""
        )
        return (
            f"Session {self.session_id}: {plural(len(self.views), 'invocation')}, "
            f"{milliseconds(sum(view.breakdown().total_ms for view in self.views))} together. Drawn is number {place}, "
            f"the slowest ({milliseconds(self.slowest.breakdown().total_ms)}).{cut}"
        )

    def invocations(self) -> pd.DataFrame:
        """One row an invocation: what was asked, how long it took, its largest part, its first finding."""
        return _frame([self._row(*pair) for pair in zip(self.rows, self.views, strict=True)], index="after")

    def timeline(self) -> go.Figure:
        """The slowest invocation's waterfall, the findings' numbers at their spans."""
        from .time_spent import NUMBERS

        return annotated(self.slowest, NUMBERS)

    def spans(self) -> pd.DataFrame:
        """The timeline as a table: its longest spans, in their order."""
        return _frame(
            [
                {
                    "span": "· " * min(bar.depth, 8) + one_line(bar.label),
                    "part": PART_NAMES[bar.part],
                    "after ms": number(bar.start_ms),
                    "took ms": number(bar.duration_ms),
                    "remarks": ", ".join([*(["failed"] if bar.is_failed else []), *sorted(bar.marks)]) or _NOTHING,
                }
                for bar in longest_bars(self.slowest)
            ],
            index="span",
        )

    def findings(self) -> Listing:
        """Why the slowest invocation took its time."""
        from .time_spent import finding_list

        return finding_list(self.slowest.findings(), nothing="No rule found a cause worth telling in this invocation.")

    def growth(self) -> pd.DataFrame:
        """One row a turn of the model: what it read and wrote, and how much more than in the turn before."""
        return _frame(
            [
                {
                    "turn": f"{each['invocation']}.{each['turn']}",
                    "tokens read": _count(each["read"]),
                    "more than before": _signed(each["growth"]),
                    "tokens written": _count(each["written"]),
                    "model ms": number(each["model_ms"]),
                    "first token ms": _NOTHING if each["ttft_ms"] is None else number(each["ttft_ms"]),
                    "tools called": number(each["tools"], 0),
                }
                for each in self._cycles
            ],
            index="turn",
        )

    def growth_figure(self) -> go.Figure:
        """The same as bars."""
        return token_growth(self._cycles, subtitle=self.slowest.title())

    def tools(self) -> pd.DataFrame:
        """One row a tool: how often it ran, how long, how often it failed."""
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
        """How far tools ran at the same time."""
        turns = [each.tools for view in self.views for each in view.case.cycles if each.tools.calls > 1]
        if not turns:
            return "No turn called more than one tool."
        whole, elapsed = sum(each.sum_ns for each in turns), sum(each.elapsed_ns for each in turns)
        return (
            f"{plural(len(turns), 'turn')} called several tools: {milliseconds(whole / 1e6)} of tool time in "
            f"{milliseconds(elapsed / 1e6)}, at most {max(each.most_at_once for each in turns)} open at once."
        )

    @cached_property
    def _cycles(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        before: int | None = None
        for place, view in enumerate(self.views, 1):
            firsts = {call.cycle_span_id or call.span_id: call.ttft_ms for call in reversed(view.case.calls)}
            for cycle in view.case.cycles:
                read = cycle.input_tokens
                found.append(
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
        return found

    def _row(self, row: InvocationRow, view: TraceView) -> dict[str, str]:
        found = view.breakdown()
        largest = max(found.parts, key=lambda part: part.duration_ns)
        first = view.findings().first
        began = self.rows[0].client_invoke_time
        after_s = (row.client_invoke_time or 0) - (began or 0)
        return {
            "after": f"{after_s:.1f} s",
            "asked": one_line(row.prompt or "")[:80] or _NOTHING,
            "took ms": number(found.total_ms) if found.total_ns else _NOTHING,
            "status": row.failure or row.status,
            "spans": view.state.replace("_", " ") if view.state != "found" else number(len(view.trace.spans), 0),
            "largest part": f"{PART_NAMES[largest.name]} {percent(largest.share)}" if found.total_ns else _NOTHING,
            "first finding": one_line(first.title.replace("`", "")) if first else _NOTHING,
        }


def _frame(rows: Sequence[dict[str, str]], *, index: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows or [{index: "nothing", "why": "no span says it"}])
    return frame.set_index(index)


def _count(value: int | None) -> str:
    return _NOTHING if value is None else number(value, 0)


def _signed(value: int | None) -> str:
    return _NOTHING if value is None else f"{'+' if value >= 0 else ''}{number(value, 0)}"
