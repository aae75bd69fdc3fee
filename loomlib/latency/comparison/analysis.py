"""Conclusions of a comparison of agents: which is faster, by how much, and whether the data show it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.experiments import StudyFinding, StudyMethod, StudyTable, pending_count
from loomlib.presentation.formats import milliseconds, percent, plural
from loomlib.presentation.theme import PALETTE, SYMBOLS, styled
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.percentiles import CONFIDENCE, DIFFERENCE_METHOD

from ..method import timeout_argument
from .effects import SHARE_DIFFERENCE_METHOD, AgentEffect, difference_confidence, effects
from .result import ComparisonResult

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

FORMAT = "loom.comparison/1"


def sentences(result: ComparisonResult) -> list[str]:
    """Return which agent is faster, what is known of the slow calls, and whether one fails more often."""
    first, *others = effects(result)
    texts = [_faster(first.agent, other) for other in others]
    texts += [
        text for other in others for text in (_slow_calls(first.agent, other), _fails(first.agent, other)) if text
    ]
    if pending := pending_count(result.calls):
        texts.append(f"This study is not finished: {plural(pending, 'call')} pending.")
    return texts


def _excludes_zero(difference: Estimate | None) -> bool:
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0


def _faster(first: str, other: AgentEffect) -> str:
    difference = other.p50_difference
    if difference is None or difference.value is None:
        n, needed = (difference.n, difference.needed_n) if difference else (0, 6)
        return (
            f"The data do not say whether {other.agent} or {first} is faster: one of them has only "
            f"{plural(n, 'answered call')}, and {needed} are needed."
        )
    bounds = f"{percent(difference.confidence)} interval {difference.interval_text('ms')}"
    if not _excludes_zero(difference):
        return (
            f"The data do not say whether {other.agent} or {first} is faster: the medians of {difference.n} calls each "
            f"differ by {milliseconds(difference.value)} ({bounds})."
        )
    faster, slower = (other.agent, first) if difference.value < 0 else (first, other.agent)
    return (
        f"{faster} is faster than {slower}: its median call takes {milliseconds(abs(difference.value))} less ({bounds} "
        f"of {other.agent} minus {first}, {difference.n} calls each)."
    )


def _slow_calls(first: str, other: AgentEffect) -> str:
    difference = other.p90_difference
    if difference is None or difference.value is None or not _excludes_zero(difference):
        return ""
    word = "less" if difference.value < 0 else "more"
    return (
        f"At p90, a call of {other.agent} takes {milliseconds(abs(difference.value))} {word} than one of {first} "
        f"({percent(difference.confidence)} interval {difference.interval_text('ms')})."
    )


def _fails(first: str, other: AgentEffect) -> str:
    difference = other.failure_difference
    if difference is None or difference.value is None or not _excludes_zero(difference):
        return ""
    word = "less" if difference.value < 0 else "more"
    return (
        f"{other.agent} fails {word} often than {first}: a difference of {percent(abs(difference.value))} of the calls."
    )


def table(result: ComparisonResult) -> StudyTable:
    """Return one row for each agent."""
    first, level = next(iter(result.design.agents)), percent(difference_confidence(result))
    columns = (
        "agent",
        "n",
        "p50 [95 %] ms",
        "p90 [95 %] ms",
        "failed",
        f"p50 − {first} [{level}] ms",
        f"p90 − {first} [{level}] ms",
    )
    rows = [
        (
            effect.agent,
            str(effect.p50.n),
            str(effect.p50),
            str(effect.p90),
            percent(effect.failures.value),
            _cell(effect.p50_difference),
            _cell(effect.p90_difference),
        )
        for effect in effects(result)
    ]
    marks = [(PALETTE[place % len(PALETTE)], "●") for place in range(len(rows))]
    return StudyTable(columns=columns, rows=rows, marks=marks)


def _cell(difference: Estimate | None) -> str:
    if difference is None:
        return "–"
    needed = f" ({difference.n} of {difference.needed_n})" if difference.value is None and difference.needed_n else ""
    return f"{difference}{needed}"


def findings(result: ComparisonResult) -> list[StudyFinding]:
    """Return which agents failed, with the first message."""
    study_findings: list[StudyFinding] = []
    for label in result.design.agents:
        failed = [call for call in result.of(label) if call.is_failed]
        if failed:
            study_findings.append(
                StudyFinding(
                    kind="failures",
                    title=f"{plural(len(failed), 'call')} of {label} failed",
                    evidence=f"first, at position {failed[0].position}: {(failed[0].error_message or '')[:300]}",
                    advice="Failed calls have no duration; an agent that fails quickly is not fast.",
                )
            )
    return study_findings


def figures(result: ComparisonResult) -> dict[str, go.Figure]:
    """Return the chart `calls`: every answered call in the order it was made."""
    from loomlib.presentation.charts import Chart

    traces: list[dict[str, Any]] = []
    for place, label in enumerate(result.design.agents):
        calls = [call for call in result.of(label) if call.is_done]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(label),
                "x": [call.position for call in calls],
                "y": [call.duration_ms for call in calls],
                "marker": {
                    "color": PALETTE[place % len(PALETTE)],
                    "symbol": SYMBOLS[place % len(SYMBOLS)],
                    "size": 8,
                    "opacity": 0.8,
                },
            }
        )
    drawn = styled(
        traces,
        title="Every answered call, in the order it was made",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "position in the order"}},
        yaxis={"title": {"text": "whole answer, ms"}, "rangemode": "tozero"},
    )
    return {"calls": Chart(drawn)}


def method(result: ComparisonResult) -> StudyMethod:
    """Return how the study was made."""
    design = result.design
    session = "a new session" if design.new_sessions else "one session of its agent, opened by an untimed call"
    limits = [
        "The agents were compared with this prompt only; another prompt may reverse the order.",
        "Medians, 90th percentiles and failures are not adjusted for multiple comparisons: of twenty "
        "comparisons of identical agents, about three show a difference in one of the figures.",
    ]
    if result.scope == "local":
        limits.append("The agents ran on this machine: network, microVM and AWS's own queues are not in these numbers.")
    if any("simulated" in label for label in result.labels):
        limits.append("The model is simulated: its part of the time is a setting, not a measurement.")
    return StudyMethod(
        notes=[
            f"The agents were called in turn, one call at a time, in randomized blocks (seed {design.seed}); each "
            f"timed call is in {session}.",
            f"Differences: {DIFFERENCE_METHOD}; of failed calls: {SHARE_DIFFERENCE_METHOD} "
            f"({percent(difference_confidence(result))} intervals{_adjusted(result)}).",
            "Failed calls are excluded from percentiles.",
        ],
        limits=limits,
        run_again=f"loom.ComparisonStudy(agents, calls={design.calls}, prompt={design.prompt!r}, "
        f"new_sessions={design.new_sessions}, seed={design.seed}{timeout_argument(design.timeout_s)}).run()",
        facts={"seed": design.seed},
    )


def _adjusted(result: ComparisonResult) -> str:
    """Return why the intervals of differences have another level with more than two agents."""
    others = len(result.design.agents) - 1
    if others == 1:
        return ""
    return f": the {others} differences of a figure together hold in {percent(CONFIDENCE)} of studies, by Bonferroni"


def details(result: ComparisonResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    return {
        "format": FORMAT,
        "agents": [
            {
                "agent": effect.agent,
                "p50_ms": effect.p50.summary(),
                "p90_ms": effect.p90.summary(),
                "failure_share": effect.failures.summary(),
                **{
                    name: difference.summary()
                    for name, difference in (
                        ("p50_difference_ms", effect.p50_difference),
                        ("p90_difference_ms", effect.p90_difference),
                        ("failure_share_difference", effect.failure_difference),
                    )
                    if difference is not None
                },
            }
            for effect in effects(result)
        ],
    }


def sections(result: ComparisonResult) -> list[Markup]:
    """Return no further sections."""
    return []
