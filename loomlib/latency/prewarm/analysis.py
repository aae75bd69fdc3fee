"""Conclusions of a study of pre-warmed sessions: the latency saved by pings, and their price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from loomlib.experiments import Gate, StudyFinding, StudyMethod, StudyTable, failure_counts, pending_count
from loomlib.presentation.formats import milliseconds, money, number, percent, plural, seconds
from loomlib.presentation.theme import PALETTE, SYMBOLS, styled
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import decide_at_most
from loomlib.statistics.percentiles import (
    CONFIDENCE,
    PERCENTILE_METHOD,
    estimate_paired_difference,
    estimate_percentile,
)

from ..method import SECOND_CALL, timeout_argument
from .design import arm_key
from .result import GapCall, PrewarmResult

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup


FORMAT = "loom.prewarm-study/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrewarmArm:
    """Estimates of one arm.

    Attributes:
        ping_every_s: Seconds between pings; 0 for none.
        calls: Its calls.
        p50: Median latency of the first call after a gap, in milliseconds.
        saved: Median paired difference to the baseline arm, in milliseconds; None for the baseline.
        pings: Mean number of pings per gap, over the gaps whose next call was answered.
        session_s: Seconds of a gap for which the session is kept and billed.
        usd_per_1000: Memory price of 1000 gaps at list prices, in dollars; None when the price is unknown.
    """

    ping_every_s: float
    calls: tuple[GapCall, ...]
    p50: Estimate
    saved: Estimate | None
    pings: float
    session_s: float
    usd_per_1000: float | None

    @property
    def key(self) -> str:
        """The arm's name."""
        return arm_key(self.ping_every_s)


def arms(result: PrewarmResult) -> list[PrewarmArm]:
    """Return the estimates of every arm, in the design's order."""
    from loomlib.telemetry.cost import price_table

    design, per_gb_hour = result.design, price_table().runtime.memory_per_gb_hour
    baseline = {call.block: call for call in result.calls if call.ping_every_s == design.ping_every_s[0]}
    results: list[PrewarmArm] = []
    for every in design.ping_every_s:
        calls = tuple(call for call in result.calls if call.ping_every_s == every)
        answered = [call for call in calls if call.is_done]
        durations_ms = {call.block: call.duration_ms for call in answered if call.duration_ms is not None}
        pairs = [
            (before, now)
            for block, now in durations_ms.items()
            if (before := _duration(baseline.get(block))) is not None
        ]
        session_s = (
            design.gap_s if every and every < design.idle_timeout_s else min(design.gap_s, design.idle_timeout_s)
        )
        price = None if per_gb_hour is None else 1000 * session_s / 3600 * design.memory_gb * float(per_gb_hour)
        saved = estimate_paired_difference([b for b, _ in pairs], [now for _, now in pairs])
        results.append(
            PrewarmArm(
                ping_every_s=every,
                calls=calls,
                p50=estimate_percentile(list(durations_ms.values()), 0.5),
                saved=saved if every != design.ping_every_s[0] else None,
                pings=sum(len(call.pings_ms) for call in answered) / max(1, len(answered)),
                session_s=session_s,
                usd_per_1000=price,
            )
        )
    return results


def sentences(result: PrewarmResult) -> list[str]:
    """Return what pings save and what they cost."""
    baseline, *others = arms(result)
    texts: list[str] = []
    for arm in others:
        if (failed_pings := _failed_pings(arm.calls)) and not any(call.pings_ms for call in arm.calls):
            texts.append(f"None of the pings of “{arm.key}” was answered ({failed_pings}): what they save is unknown.")
            continue
        saved = arm.saved
        if saved is None or saved.value is None or saved.low is None or saved.high is None:
            texts.append(
                f"Too few calls were answered to tell what a {arm.key} saves ({plural(len(arm.calls), 'gap')})."
            )
        elif saved.low <= 0 <= saved.high:
            texts.append(f"A {arm.key} shows no difference on the first call after a gap ({saved.text('ms')}).")
        else:
            verb, size = ("saves", saved.value) if saved.value > 0 else ("costs", -saved.value)
            texts.append(
                f"A {arm.key} {verb} {milliseconds(size)} on the first call after an idle gap of "
                f"{seconds(result.design.gap_s)} (95 % interval of the saving {saved.interval_text('ms')})."
            )
        extra = arm.session_s - baseline.session_s
        price = (
            f", {money(arm.usd_per_1000 - baseline.usd_per_1000)} of memory for 1000 gaps"
            if arm.usd_per_1000 is not None and baseline.usd_per_1000 is not None
            else ""
        )
        texts.append(
            f"It takes {number(arm.pings)} pings and {seconds(extra)} of additional session time in each gap{price}."
        )
    if result.design.is_scaled:
        texts.append(
            f"The idle time-out is {seconds(result.design.idle_timeout_s)} here, for a short study; AgentCore's is "
            "60 s or more, 900 s by default."
        )
    failed = failure_counts(result.calls)
    attempts = len(result.calls) - pending_count(result.calls)
    listed = ", ".join(f"{count} {name}" for name, count in failed.most_common())
    count = plural(sum(failed.values()), "failure") if failed else "No failures"
    return [*texts, f"{count} in {plural(attempts, 'gap')}{f': {listed}' if failed else ''}."]


def table(result: PrewarmResult) -> StudyTable:
    """Return one row for each arm."""
    columns = (
        "arm",
        "n",
        "first call p50 [95 %] ms",
        "saved [95 %] ms",
        "pings",
        "session s",
        "$ per 1000 gaps",
        "failed",
    )
    rows = [
        (
            arm.key,
            str(sum(call.is_done for call in arm.calls)),
            str(arm.p50),
            "–" if arm.saved is None else str(arm.saved),
            number(arm.pings),
            number(arm.session_s),
            "–" if arm.usd_per_1000 is None else money(arm.usd_per_1000),
            str(sum(call.is_failed for call in arm.calls)),
        )
        for arm in arms(result)
    ]
    return StudyTable(columns=columns, rows=rows)


def findings(result: PrewarmResult) -> list[StudyFinding]:
    """Return the notable findings."""
    design = result.design
    study_findings: list[StudyFinding] = []
    if design.gap_s <= design.idle_timeout_s:
        study_findings.append(
            StudyFinding(
                kind="short gap",
                title="The gap is shorter than the idle time-out",
                evidence=f"gap {seconds(design.gap_s)}, idle time-out {seconds(design.idle_timeout_s)}",
                advice="No session ends in such a gap, so pings cannot save anything: choose a longer gap_s.",
            )
        )
    if slow := [every for every in design.ping_every_s if every >= design.idle_timeout_s]:
        study_findings.append(
            StudyFinding(
                kind="rare pings",
                title="The pings are further apart than the idle time-out",
                evidence=", ".join(arm_key(every) for every in slow),
                advice="The session ends between two pings; each ping starts a new one.",
            )
        )
    if evidence := _failed_pings(result.calls):
        study_findings.append(
            StudyFinding(
                kind="failed pings",
                title="Pings failed",
                evidence=evidence,
                advice="A failed ping may not keep its session, so these gaps show too little of what pings save: "
                "repeat the study when the cause is removed.",
            )
        )
    return study_findings


def figures(result: PrewarmResult) -> dict[str, go.Figure]:
    """Return the chart `calls`: every first call after a gap, in order, by arm."""
    from loomlib.presentation.charts import Chart

    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": arm.key,
            "x": [call.position for call in arm.calls if call.is_done],
            "y": [call.duration_ms for call in arm.calls if call.is_done],
            "marker": {"color": PALETTE[place % len(PALETTE)], "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9},
        }
        for place, arm in enumerate(arms(result))
    ]
    chart = styled(
        traces,
        title="First call after each idle gap",
        subtitle=escape(result.title()),
        xaxis={"title": {"text": "position in the order"}},
        yaxis={"title": {"text": "whole answer, ms"}, "rangemode": "tozero"},
    )
    return {"calls": Chart(chart)}


def method(result: PrewarmResult) -> StudyMethod:
    """Return how the study was made."""
    design = result.design
    notes = [
        "Each unit opens a new session with an untimed call, waits for the gap, and times the next call: one at a "
        f"time, in randomized blocks (seed {design.seed}).",
        "A ping is a whole invocation with its own prompt: on AWS it is billed as one, its model call included, and "
        "the agent may remember it. The price here is that of the session's memory alone.",
        f"Saved: median of the differences to “{arm_key(design.ping_every_s[0])}” in each block; {PERCENTILE_METHOD} "
        f"({percent(CONFIDENCE)} intervals).",
        f"Session time: the gap while pings keep the session ({number(design.memory_gb)} GB), else the idle time-out.",
    ]
    limits = ["Sessions that AWS keeps warm in pools of its own may start faster than these."]
    if design.is_scaled:
        limits.insert(
            0, "Seconds stand for minutes: the start-up time is real, but the times between calls are scaled."
        )
    if result.scope == "local":
        limits.append("The agent ran on this machine: a cold start here is that of a process, not of a microVM.")
    if result.platform_version == "V1":
        limits.append(f"{SECOND_CALL} A ping or the timed call can be that call.")
    arguments = (
        f"idle_timeout_s={design.idle_timeout_s:g}, gaps={design.gaps}, gap_s={design.gap_s:g}, "
        f"ping_every_s={design.ping_every_s!r}, prompt={design.prompt!r}, ping_prompt={design.ping_prompt!r}, "
        f"memory_gb={design.memory_gb:g}, seed={design.seed}{timeout_argument(design.timeout_s)}"
    )
    run_again = f"loom.PrewarmStudy(agent, {arguments}).run()"
    return StudyMethod(notes=notes, limits=limits, run_again=run_again, facts={"seed": design.seed})


def details(result: PrewarmResult) -> dict[str, Any]:
    """Return this study's additions to the common JSON summary."""
    return {
        "format": FORMAT,
        "agent": {"name": result.agent_name, "qualifier": result.qualifier},
        "is_scaled": result.design.is_scaled,
        "arms": [
            {
                "arm": arm.key,
                "ping_every_s": arm.ping_every_s,
                "p50_ms": arm.p50.summary(),
                "saved_ms": arm.saved.summary() if arm.saved else None,
                "pings_per_gap": arm.pings,
                "session_s_per_gap": arm.session_s,
                "memory_usd_per_1000_gaps": arm.usd_per_1000,
            }
            for arm in arms(result)
        ],
    }


def sections(result: PrewarmResult) -> list[Markup]:
    """Return no further sections of the page."""
    return []


def judge(result: PrewarmResult, max_p50_ms: float, ping_every_s: float) -> Gate:
    """Compare an arm's median latency after a gap with a limit.

    Args:
        result: The study.
        max_p50_ms: The limit, in milliseconds.
        ping_every_s: The arm.
    """
    if max_p50_ms <= 0:
        raise ValueError(f"a limit must be above 0 ms, not {max_p50_ms}")
    arm = next((arm for arm in arms(result) if arm.ping_every_s == ping_every_s), None)
    if arm is None:
        raise ValueError(f"{arm_key(ping_every_s)} is not an arm of the study")
    durations = [call.duration_ms for call in arm.calls if call.is_done and call.duration_ms is not None]
    decision = decide_at_most(arm.p50, max_p50_ms, durations, percentile=0.5)
    text = f"p50 of the first call after a gap, {arm.key}: {arm.p50.text('ms')}, limit {milliseconds(max_p50_ms)}"
    if decision.is_missed_by_all and arm.p50.value is None:
        text += f"; {decision.all_missed('call')}"
    elif advice := decision.advice("gap"):
        text += f"; {advice}"
    return Gate(
        outcome=decision.outcome, limit=max_p50_ms, figure=arm.p50, text=f"Gate {decision.outcome}: {text}.",
        data={"arm": arm.key, "limit_ms": max_p50_ms, "p50": arm.p50.summary(), "needed_n": decision.needed_n},
    )  # fmt: skip


def _failed_pings(calls: Iterable[GapCall]) -> str:
    """Return how many pings failed and of which classes; empty if none failed."""
    gaps = list(calls)
    failures = Counter(failure for call in gaps for failure in call.failed_pings)
    if not failures:
        return ""
    failed_count = sum(failures.values())
    ping_count = failed_count + sum(len(call.pings_ms) for call in gaps)
    listed = ", ".join(f"{number(count, 0)} {name}" for name, count in failures.most_common())
    return f"{number(failed_count, 0)} of {plural(ping_count, 'ping')} failed: {listed}"


def _duration(call: GapCall | None) -> float | None:
    return call.duration_ms if call is not None and call.is_done else None
