"""A trace as static HTML: where the time went, the findings, the cost and the waterfall. No script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..presentation.html import fragment
from ..telemetry.traces import Bar, Breakdown, ToolArtifacts
from .trace_look import PART_COLOURS, PART_NAMES

if TYPE_CHECKING:
    from ..telemetry.cost import Cost
    from ..telemetry.diagnosis import LatencyFinding

SHOWN_BARS: Final = 200
SHOWN_FINDINGS: Final = 5


def trace_page(
    *,
    title: str,
    sentences: Sequence[str],
    breakdown: Breakdown,
    findings: Sequence[LatencyFinding] | None,
    cost: Cost | None,
    bars: Sequence[Bar],
    artifacts: Sequence[ToolArtifacts] = (),
) -> str:
    """Return the page of one trace.

    Args:
        title: The line above the page.
        sentences: The result, one paragraph each.
        breakdown: Where the time went.
        findings: Causes of the duration; None where there are no spans to judge.
        cost: What the invocation cost; None where there are no spans.
        bars: The waterfall.
        artifacts: The files and images of tools.
    """
    visible_bars = bars[:SHOWN_BARS]
    first_ms = min([0.0, *(bar.start_ms for bar in visible_bars)])
    last_ms = max([breakdown.total_ms, *(bar.start_ms + bar.duration_ms for bar in visible_bars)])
    return fragment(
        "loomlib.workbench:trace.html.j2",
        title=title,
        sentences=sentences,
        breakdown=breakdown,
        findings=findings,
        cost=cost,
        bars=bars,
        artifacts=artifacts,
        shown_bars=SHOWN_BARS,
        shown_findings=SHOWN_FINDINGS,
        first_ms=first_ms,
        width_ms=max(last_ms - first_ms, 1e-6),
        names=PART_NAMES,
        colours=PART_COLOURS,
        marks=_marks,
    )


def _marks(bar: Bar) -> str:
    return ", ".join([*(["failed"] if bar.is_failed else []), *sorted(mark.replace("_", " ") for mark in bar.marks)])
