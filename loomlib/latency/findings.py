"""What a study's calls show beyond its table: modest observations, each with its numbers.

A finding is a place to look, not a verdict. Comparisons use 99 % intervals, since several are made on the same calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from loomlib.presentation.formats import milliseconds, number, percent, plural
from loomlib.statistics.percentiles import estimate_share, percentile, percentile_replicates

from .measurements import Measurement, of_scenario
from .scenarios import Scenario
from .starts import FOUND, NO_LOGS, NO_START_LINE, NOT_FOUND_YET
from .summaries import StudySummary

_TAIL = 0.005
_FEWEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation: what was seen, the numbers behind it, and what to do about it."""

    kind: str
    title: str
    evidence: str
    advice: str = ""

    def summary(self) -> dict[str, str]:
        """The finding as JSON-ready values."""
        return {"kind": self.kind, "title": self.title, "evidence": self.evidence, "advice": self.advice}


def find(measurements: Sequence[Measurement], summary: StudySummary, *, seed: int) -> list[Finding]:
    """The findings of a study, the most consequential first."""
    found = [_failures(measurements), _start_states(measurements), _clocks(summary), _first_sticky(measurements)]
    for scenario in Scenario:
        calls = [each for each in of_scenario(measurements, scenario) if each.is_done]
        found.extend((_groups(scenario, calls), _outliers(scenario, calls)))
        found.extend((_drift(scenario, calls, seed), _connections(scenario, calls)))
    found.extend((_attempts(measurements), _floor(summary)))
    return [each for each in found if each is not None]


def _failures(measurements: Sequence[Measurement]) -> Finding | None:
    made = [each for each in measurements if not each.is_owed]
    classes = Counter((each.failure or "unknown", each.scenario) for each in made if each.is_failed)
    if not classes:
        return None
    told = ", ".join(f"{number(count, 0)} {name} ({scenario})" for (name, scenario), count in classes.most_common())
    share = estimate_share(sum(classes.values()), len(made))
    assert share.low is not None
    assert share.high is not None
    first = next(each for each in made if each.is_failed)
    return Finding(
        kind="failures",
        title=f"{plural(sum(classes.values()), 'call')} of {number(len(made), 0)} failed",
        evidence=f"{told}; 95 % interval of the share {percent(share.low)}–{percent(share.high)}. "
        f"First, at position {first.position}: {(first.error_message or 'no message')[:300]}",
        advice="Failed calls are in no percentile; read their messages in measurements().",
    )


def _start_states(measurements: Sequence[Measurement]) -> Finding | None:
    asked = [each for each in measurements if each.is_done and each.start_state is not None]
    states = Counter(each.start_state for each in asked if each.start_state != FOUND)
    if not states:
        return None
    told = ", ".join(f"{str(state).replace('_', ' ')} {count}" for state, count in states.most_common())
    advice = {
        NO_START_LINE: 'Have the agent log "Agent invoked - Start time: {ISO time}" when a call reaches it.',
        NOT_FOUND_YET: "Logs can be minutes late: run the study again, it makes no call and reads them anew.",
        NO_LOGS: "Check that the credentials may read the agent's log group.",
    }
    return Finding(
        kind="starts",
        title=f"The start of {plural(sum(states.values()), 'call')} of {number(len(asked), 0)} is not known",
        evidence=told,
        advice=advice.get(str(states.most_common(1)[0][0]), ""),
    )


def _clocks(summary: StudySummary) -> Finding | None:
    bound = summary.clocks
    if bound is None or (bound.allows_agreement and bound.is_consistent):
        return None
    if not bound.is_consistent:
        return Finding(
            kind="clocks",
            title="No single clock offset fits the start times",
            evidence=f"{bound.calls} allow offsets anywhere from {bound}",
            advice="Several machines answered or a clock was set; compare cold with warm calls by the first byte.",
        )
    ahead = "ahead of" if bound.low_ms > 0 else "behind"
    return Finding(
        kind="clocks",
        title=f"The agent's clock is {ahead} this machine's",
        evidence=f"by {milliseconds(abs(bound.correction_ms))} (between {bound}, from {bound.calls})",
        advice="The table's starts are corrected by that; measurements() has them as the two clocks gave them, and "
        "differences between cold and warm need no correction.",
    )


def _first_sticky(measurements: Sequence[Measurement]) -> Finding | None:
    calls = [each for each in of_scenario(measurements, Scenario.STICKY) if each.is_done]
    firsts = {each.session_id: each for each in reversed(calls)}
    rest = [each.duration_ms or 0 for each in calls if firsts[each.session_id] is not each]
    if len(rest) < 6:
        return None
    slower = [each for each in firsts.values() if (each.duration_ms or 0) > 1.2 * max(rest)]
    usual = median(rest)
    if not slower:
        return None
    return Finding(
        kind="first sticky call",
        title="The first timed call of a long-lived session is slower than all later ones",
        evidence=f"{', '.join(milliseconds(each.duration_ms or 0) for each in slower[:3])} against a median of "
        f"{milliseconds(usual)} over {plural(len(rest), 'later call')}",
        advice="One untimed call does not warm this agent fully; look for lazy imports or a first connection.",
    )


def _groups(scenario: Scenario, calls: Sequence[Measurement]) -> Finding | None:
    """Two groups: a gap wider (as a factor) than either side of it, with at least a tenth of the calls on each."""
    ordered = sorted(max(each.duration_ms or 0, 1e-3) for each in calls)
    if len(ordered) < _FEWEST:
        return None
    gap, cut = max((b / a, place) for place, (a, b) in enumerate(pairwise(ordered), 1))
    below, above = ordered[:cut], ordered[cut:]
    wide = gap > max(below[-1] / below[0], above[-1] / above[0], 1.1)
    if not wide or min(len(below), len(above)) < max(2, len(ordered) / 10):
        return None
    return Finding(
        kind="groups",
        title=f"The {scenario} calls form two groups",
        evidence=f"{number(len(below), 0)} up to {milliseconds(below[-1])}, {number(len(above), 0)} from "
        f"{milliseconds(above[0])} on, none between",
        advice="A mixture (a warm pool, a download): no single number describes it, look at every call in the chart.",
    )


def _outliers(scenario: Scenario, calls: Sequence[Measurement]) -> Finding | None:
    """Calls beyond Tukey's outer fence, Q3 + 3·IQR (Exploratory Data Analysis, 1977), of the logarithms.

    Durations are skewed to the right; on their own scale the fence would call every long tail an outlier.
    """
    if len(calls) < _FEWEST:
        return None
    durations = [each.duration_ms or 0 for each in calls]
    q1, q3 = max(percentile(durations, 0.25), 1e-3), percentile(durations, 0.75)
    fence = max(q3 * (q3 / q1) ** 3, 1.5 * q3)
    far = [each for each in calls if (each.duration_ms or 0) > fence]
    if not far or len(far) > len(calls) / 5:
        return None
    told = ", ".join(f"{milliseconds(each.duration_ms or 0)} at position {each.position}" for each in far[:3])
    return Finding(
        kind="outliers",
        title=f"{plural(len(far), f'{scenario} call')} took far longer than the rest",
        evidence=f"{told}; three quarters took at most {milliseconds(q3)}",
        advice="They are in the percentiles. Read those sessions' logs for what was different.",
    )


def _drift(scenario: Scenario, calls: Sequence[Measurement], seed: int) -> Finding | None:
    """Whether the second half of the calls differs from the first: bootstrap of the two medians' difference."""
    half = len(calls) // 2
    if len(calls) < _FEWEST:
        return None
    first = [each.duration_ms or 0 for each in calls[:half]]
    second = [each.duration_ms or 0 for each in calls[half:]]
    apart = percentile_replicates(second, 0.5, seed=seed + 1) - percentile_replicates(first, 0.5, seed=seed)
    low, high = (float(end) for end in np.quantile(apart, (_TAIL, 1 - _TAIL)))
    change = percentile(second, 0.5) - percentile(first, 0.5)
    if low <= 0 <= high or abs(change) < 0.05 * percentile(first, 0.5):
        return None
    word = "slower" if change > 0 else "faster"
    return Finding(
        kind="drift",
        title=f"The {scenario} calls became {word} while the study ran",
        evidence=f"median {milliseconds(percentile(first, 0.5))} in the first half, "
        f"{milliseconds(percentile(second, 0.5))} in the second "
        f"(99 % interval of the change {number(low)} to {milliseconds(high)})",
        advice="Scenarios were mixed in blocks, so their comparison stands; the absolute numbers depend on when.",
    )


def _connections(scenario: Scenario, calls: Sequence[Measurement]) -> Finding | None:
    """New connections inside timed calls: their cost is in the time to first byte."""
    opened = [each.connect_ms for each in calls if each.connection_reused is False and each.connect_ms]
    usual = median([each.duration_ms or 0 for each in calls]) if calls else 0
    if not opened or len(opened) == len(calls) or median(opened) < 0.05 * usual:
        return None
    return Finding(
        kind="connections",
        title=f"{plural(len(opened), f'{scenario} call')} of {number(len(calls), 0)} paid for a new connection",
        evidence=f"a median of {milliseconds(median(opened))} each, which is part of their time to first byte",
        advice="Compare calls with connection_reused True in measurements().",
    )


def _attempts(measurements: Sequence[Measurement]) -> Finding | None:
    again = [each for each in measurements if each.attempt > 1 and not each.is_owed]
    if not again:
        return None
    return Finding(
        kind="resumed",
        title=f"{plural(len(again), 'call')} had to be made again after the study was stopped",
        evidence="positions " + ", ".join(str(each.position) for each in again[:10]),
        advice="A stopped study resumes with new sessions; the machine may have been in another state.",
    )


def _floor(summary: StudySummary) -> Finding | None:
    floor = summary.floor.value
    near = [each for each in summary.scenarios if each.p50.value is not None and floor and floor > 0.2 * each.p50.value]
    if floor is None or not near:
        return None
    told = ", ".join(f"{each.scenario} {milliseconds(each.p50.value or 0)}" for each in near)
    return Finding(
        kind="floor",
        title="The harness is a large part of what was measured",
        evidence=f"floor {milliseconds(floor)}; medians {told}",
        advice="Differences of that size are about the measuring; compare scenarios, not absolute numbers.",
    )
