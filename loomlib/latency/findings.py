"""Findings of a latency study: what its calls show beyond the table, with figures.

A finding is a hint, not a verdict. Comparisons use 99 % intervals, since several are made on the same calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from loomlib.experiments import StudyFinding
from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.statistics.percentile_power import MOST_CALLS
from loomlib.statistics.percentiles import estimate_percentile_difference, estimate_share, percentile

from .advice import needed_for_width
from .measurements import FOUND, NO_LOGS, NO_START_LINE, NOT_FOUND_YET, Measurement, of_scenario
from .mixtures import FEWEST
from .result import StudyResult
from .scenarios import Scenario
from .summaries import ScenarioSummary, StudySummary

_DRIFT_CONFIDENCE = 0.99
_WIDE, _WANTED = 0.25, 0.1


def findings(result: StudyResult) -> list[StudyFinding]:
    """Return the findings of a study, the most consequential first."""
    return find(result.calls, result.estimates())


def find(measurements: Sequence[Measurement], summary: StudySummary) -> list[StudyFinding]:
    """Return the findings of some calls.

    Args:
        measurements: The calls.
        summary: Their estimates.
    """
    checks = [_failures(measurements), _start_states(measurements), _clocks(summary), _first_sticky(measurements)]
    checks += [_mixture(scenario) for scenario in summary.scenarios]
    for scenario in Scenario:
        calls = [call for call in of_scenario(measurements, scenario) if call.is_done]
        checks += [_outliers(scenario, calls), _drift(scenario, calls), _connections(scenario, calls)]
    checks += [_attempts(measurements), _floor(summary), _width(measurements, summary)]
    return [finding for finding in checks if finding is not None]


def _failures(measurements: Sequence[Measurement]) -> StudyFinding | None:
    ended_calls = [call for call in measurements if not call.is_pending]
    classes = Counter((call.failure or "unknown", call.scenario) for call in ended_calls if call.is_failed)
    if not classes:
        return None
    counts = ", ".join(f"{number(count, 0)} {name} ({scenario})" for (name, scenario), count in classes.most_common())
    share = estimate_share(sum(classes.values()), len(ended_calls))
    assert share.low is not None
    assert share.high is not None
    first = next(call for call in ended_calls if call.is_failed)
    return StudyFinding(
        kind="failures",
        title=f"{plural(sum(classes.values()), 'call')} of {number(len(ended_calls), 0)} failed",
        evidence=f"{counts}; 95 % interval of the share {percent(share.low)}–{percent(share.high)}. "
        f"First, at position {first.position}: {(first.error_message or 'no message')[:300]}",
        advice="Failed calls are excluded from percentiles; measurements() has their messages.",
    )


def _start_states(measurements: Sequence[Measurement]) -> StudyFinding | None:
    searched = [call for call in measurements if call.is_done and call.start_state is not None]
    states = Counter(call.start_state for call in searched if call.start_state != FOUND)
    if not states:
        return None
    advice = {
        NO_START_LINE: 'Have the agent log "Agent invoked - Start time: {ISO time}" when a call reaches it.',
        NOT_FOUND_YET: "Logs can arrive minutes late: run the study again; it makes no calls and only reads the logs.",
        NO_LOGS: "Check that the credentials may read the agent's log group.",
    }
    return StudyFinding(
        kind="starts",
        title=f"The start of {plural(sum(states.values()), 'call')} of {number(len(searched), 0)} is unknown",
        evidence=", ".join(f"{str(state).replace('_', ' ')} {count}" for state, count in states.most_common()),
        advice=advice.get(str(states.most_common(1)[0][0]), ""),
    )


def _clocks(summary: StudySummary) -> StudyFinding | None:
    bound = summary.clocks
    if bound is None or (bound.allows_agreement and bound.is_consistent):
        return None
    if not bound.is_consistent:
        return StudyFinding(
            kind="clocks",
            title="No single clock offset fits the start times",
            evidence=f"{bound.calls} allow offsets anywhere from {bound}",
            advice="Several machines answered or a clock was set; compare cold with warm calls by the first byte.",
        )
    ahead = "ahead of" if bound.low_ms > 0 else "behind"
    return StudyFinding(
        kind="clocks",
        title=f"The agent's clock is {ahead} this machine's",
        evidence=f"by {milliseconds(abs(bound.correction_ms))} (between {bound}, from {bound.calls})",
        advice="The table's starts are corrected by that; measurements() has the uncorrected ones, and differences "
        "between cold and warm calls need no correction.",
    )


def _first_sticky(measurements: Sequence[Measurement]) -> StudyFinding | None:
    calls = [call for call in of_scenario(measurements, Scenario.STICKY) if call.is_done]
    firsts = {call.session_id: call for call in reversed(calls)}
    rest = [call.duration_ms or 0 for call in calls if firsts[call.session_id] is not call]
    if len(rest) < 6:
        return None
    slower = [call for call in firsts.values() if (call.duration_ms or 0) > 1.2 * max(rest)]
    usual = median(rest)
    if not slower:
        return None
    return StudyFinding(
        kind="first sticky call",
        title="The first timed call of a long-lived session is slower than all later ones",
        evidence=f"{', '.join(milliseconds(call.duration_ms or 0) for call in slower[:3])} against a median of "
        f"{milliseconds(usual)} over {plural(len(rest), 'later call')}",
        advice="One untimed call does not warm this agent fully. The parts of its trace (result.inside) show a full "
        "garbage collection of Python, which a session's second call often contains; else look for lazy imports or a "
        "first connection.",
    )


def _mixture(summary: ScenarioSummary) -> StudyFinding | None:
    """Describe both kinds of calls of a scenario that has two."""
    mixture, scenario = summary.mixture, summary.scenario
    if mixture is None:
        return None
    slow, fast = mixture.slow, mixture.fast
    figures = (
        f"{slow.share_text}; p50 {slow.p50.text('ms')}, p90 {slow.p90.text('ms')}; of the others p50 "
        f"{fast.p50.text('ms')}, p90 {fast.p90.text('ms')}"
    )
    if not mixture.is_by_starts:
        return StudyFinding(
            kind="groups",
            title=f"The {scenario} calls form two groups",
            evidence=f"{number(fast.n, 0)} {fast.label}, {number(slow.n, 0)} {slow.label} on, none between: "
            f"the slower are {figures}",
            advice="A mixture (a warm pool, a download): no single number describes it. The table has a row for each "
            "group; the chart shows all calls.",
        )
    title = f"{number(slow.n, 0)} of {plural(slow.n + fast.n, f'{scenario} call')} started a new process"
    if scenario is Scenario.COLD:
        title = f"{number(fast.n, 0)} of {plural(slow.n + fast.n, 'cold call')} found a process that was started before"
    unknown = f"; unknown for {plural(mixture.unknown, 'call')}" if mixture.unknown else ""
    return StudyFinding(
        kind="mixture",
        title=title,
        evidence=f"those that started one are {figures}{unknown}",
        advice="The scenario's percentiles mix both kinds of calls: read the rows of each in the table.",
    )


def _outliers(scenario: Scenario, calls: Sequence[Measurement]) -> StudyFinding | None:
    """Find calls beyond Tukey's outer fence, Q3 + 3·IQR (Exploratory Data Analysis, 1977), of the logarithms.

    Durations are skewed to the right; on their own scale the fence would call every long tail an outlier.
    """
    if len(calls) < FEWEST:
        return None
    durations = [call.duration_ms or 0 for call in calls]
    q1, q3 = max(percentile(durations, 0.25), 1e-3), percentile(durations, 0.75)
    fence = max(q3 * (q3 / q1) ** 3, 1.5 * q3)
    far = [call for call in calls if (call.duration_ms or 0) > fence]
    if not far or len(far) > len(calls) / 5:
        return None
    listed = ", ".join(f"{milliseconds(call.duration_ms or 0)} at position {call.position}" for call in far[:3])
    return StudyFinding(
        kind="outliers",
        title=f"{plural(len(far), f'{scenario} call')} took far longer than the rest",
        evidence=f"{listed}; three quarters took at most {milliseconds(q3)}",
        advice="They are part of the percentiles. The logs of those sessions may show what was different.",
    )


def _drift(scenario: Scenario, calls: Sequence[Measurement]) -> StudyFinding | None:
    """Compare the second half of the calls with the first by the difference of their medians."""
    half = len(calls) // 2
    if len(calls) < FEWEST:
        return None
    first = [call.duration_ms or 0 for call in calls[:half]]
    second = [call.duration_ms or 0 for call in calls[half:]]
    difference = estimate_percentile_difference(first, second, 0.5, confidence=_DRIFT_CONFIDENCE)
    change, low, high = difference.value, difference.low, difference.high
    if change is None or low is None or high is None or low <= 0 <= high:
        return None
    if abs(change) < 0.05 * percentile(first, 0.5):
        return None
    word = "slower" if change > 0 else "faster"
    return StudyFinding(
        kind="drift",
        title=f"The {scenario} calls became {word} while the study ran",
        evidence=f"median {milliseconds(percentile(first, 0.5))} in the first half, "
        f"{milliseconds(percentile(second, 0.5))} in the second "
        f"({percent(_DRIFT_CONFIDENCE)} interval of the change {number(low)} to {milliseconds(high)})",
        advice="Scenarios were mixed in blocks, so their comparison is valid; absolute numbers depend on the time.",
    )


def _connections(scenario: Scenario, calls: Sequence[Measurement]) -> StudyFinding | None:
    """Find new connections in timed calls: they are part of the time to first byte."""
    opened = [call.connect_ms for call in calls if call.connection_reused is False and call.connect_ms]
    usual = median([call.duration_ms or 0 for call in calls]) if calls else 0
    if not opened or len(opened) == len(calls) or median(opened) < 0.05 * usual:
        return None
    return StudyFinding(
        kind="connections",
        title=f"{plural(len(opened), f'{scenario} call')} of {number(len(calls), 0)} opened a new connection",
        evidence=f"it took a median of {milliseconds(median(opened))}, which is part of their time to first byte",
        advice="Compare calls with connection_reused True in measurements().",
    )


def _attempts(measurements: Sequence[Measurement]) -> StudyFinding | None:
    again = [call for call in measurements if call.attempt > 1 and not call.is_pending]
    if not again:
        return None
    return StudyFinding(
        kind="resumed",
        title=f"{plural(len(again), 'call')} had to be repeated after the study was stopped",
        evidence="positions " + ", ".join(str(call.position) for call in again[:10]),
        advice="A study resumes with new sessions; the machine may have been in another state.",
    )


def _floor(summary: StudySummary) -> StudyFinding | None:
    floor = summary.floor.value
    near = [
        scenario
        for scenario in summary.scenarios
        if scenario.p50.value is not None and floor and floor > 0.2 * scenario.p50.value
    ]
    if floor is None or not near:
        return None
    medians = ", ".join(f"{scenario.scenario} {milliseconds(scenario.p50.value or 0)}" for scenario in near)
    return StudyFinding(
        kind="floor",
        title="The harness is a large part of what was measured",
        evidence=f"floor {milliseconds(floor)}; medians {medians}",
        advice="Differences of that size may come from the harness; compare scenarios, not absolute numbers.",
    )


def _width(measurements: Sequence[Measurement], summary: StudySummary) -> StudyFinding | None:
    """Find intervals of p90 that are wide for their value, and the number of calls that would narrow them."""
    margins: list[str] = []
    widest = 0.0
    for item in summary.scenarios:
        p90 = item.p90
        if p90.value is None or p90.low is None or p90.high is None or p90.value <= 0:
            continue
        above = 0.0 if p90.open_above else p90.high - p90.value
        margin = max(above, p90.value - p90.low) / p90.value
        if margin <= _WIDE:
            continue
        calls = of_scenario(measurements, item.scenario)
        durations = tuple(call.duration_ms for call in calls if call.is_done and call.duration_ms)
        needed = needed_for_width(durations, 0.9, _WANTED)
        calls_text = f"more than {plural(MOST_CALLS, 'call')}" if needed is None else f"about {plural(needed, 'call')}"
        bound = "no upper bound, at least " if p90.open_above else ""
        margins.append(
            f"{item.scenario} {bound}±{percent(margin)} of {plural(item.n, 'call')}, {calls_text} would give "
            f"±{percent(_WANTED)}"
        )
        widest = max(widest, margin)
    if not margins:
        return None
    return StudyFinding(
        kind="width",
        title=f"p90 is known only within ±{percent(widest)}",
        evidence="; ".join(margins),
        advice="Run a larger study: LatencyStudy(agent).advice(within=0.1).counts() returns the numbers of calls, "
        "computed from the spread of this study.",
    )
