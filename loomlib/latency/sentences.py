"""A latency study in sentences: each number with its interval, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from loomlib.experiments import failure_counts, pending_count
from loomlib.presentation.formats import milliseconds, number, percent, plural

from .measurements import of_scenario
from .parts import share_sentence, split_time
from .result import StudyResult
from .scenarios import Scenario
from .summaries import StudySummary

_COMMON = 0.25
"""Share of a scenario's calls with a garbage collection above which it is mentioned."""

_GROUPS: Mapping[tuple[Scenario, ...], str] = {
    (Scenario.WARM, Scenario.STICKY): "After that",
    (Scenario.WARM,): "In a warm session",
    (Scenario.STICKY,): "In a long-lived session",
}


def sentences(result: StudyResult) -> list[str]:
    """Return the cost of a new session, how soon responses begin, what failed, and where the time goes."""
    summary = result.estimates()
    texts = [_session_cost(summary), _answers_begin(summary), *_mixtures(summary)]
    texts += [_garbage_collections(result), _failures(result)]
    if result.stopped:
        texts.append(result.stopped)
    if pending := pending_count(result.calls):
        texts.append(f"This study is not finished: {plural(pending, 'call')} pending.")
    texts.append(share_sentence(split_time(result.calls, result.floor, Scenario.COLD), Scenario.COLD))
    return [text for text in texts if text]


def _session_cost(summary: StudySummary) -> str:
    cost = summary.session_cost
    if cost is None:
        return _cold_alone(summary)
    estimate = cost.estimate
    where = "before the agent starts" if cost.basis == "the agent starts" else f"before {cost.basis}"
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return (
            f"The cost of a new session is unknown: {plural(estimate.n, 'pair')} of a cold and a warm call, "
            f"{estimate.needed_n} are needed."
        )
    if estimate.low <= 0 <= estimate.high:
        return (
            f"{plural(estimate.n, 'pair')} of calls show no difference between a new and a warm session {where} "
            f"({milliseconds(estimate.value)}, 95 % interval {estimate.interval_text('ms')})."
        )
    if estimate.value < 0:
        return (
            f"A new session takes {milliseconds(-estimate.value)} less than a warm one {where} (95 % interval of the "
            f"difference {estimate.interval_text('ms')}). The parts of their traces show what slows the warm call, "
            "such as a full garbage collection of Python."
        )
    bounds = f"(95 % interval {estimate.interval_text('ms')})"
    return f"A new session costs {milliseconds(estimate.value)} {bounds} {where}."


def _cold_alone(summary: StudySummary) -> str:
    for cold in summary.scenarios:
        if cold.scenario is Scenario.COLD:
            first_byte = cold.ttft_p50
            if first_byte.value is None:
                return (
                    f"Too few cold calls were answered for a percentile ({cold.n}; {first_byte.needed_n} are needed)."
                )
            return (
                f"Half of the cold calls begin to answer within {milliseconds(first_byte.value)} "
                f"(95 % interval {first_byte.interval_text('ms')}); "
                f"only warm calls show how much of that a new session costs."
            )
    return ""


def _answers_begin(summary: StudySummary) -> str:
    present = tuple(scenario.scenario for scenario in summary.scenarios if scenario.scenario is not Scenario.COLD)
    if not present:
        return ""
    opening = _GROUPS[present]
    p90 = summary.answers_begin_p90
    if p90.value is not None:
        few = f"; {plural(p90.n, 'call')} are too few to bound it above" if p90.open_above else ""
        bounds = f"(95 % interval {p90.interval_text('ms')}{few})"
        return f"{opening}, 9 in 10 answers begin within {milliseconds(p90.value)} {bounds}."
    medians = [scenario.ttft_p50 for scenario in summary.scenarios if scenario.scenario in present]
    if len(medians) == 1 and medians[0].value is not None:
        return f"{opening}, half of the answers begin within {milliseconds(medians[0].value)}."
    return f"{opening}, too few calls were answered to tell when 9 in 10 begin ({p90.n}; {p90.needed_n} are needed)."


def _mixtures(summary: StudySummary) -> list[str]:
    return [item.mixture.sentence(item.scenario.value) for item in summary.scenarios if item.mixture is not None]


def _garbage_collections(result: StudyResult) -> str:
    """Return the full garbage collections that a scenario's calls contain, and its median without them."""
    texts: list[str] = []
    for scenario in (Scenario.WARM, Scenario.STICKY):
        timings = [
            (call.duration_ms, call.garbage_collection_ms)
            for call in of_scenario(result.calls, scenario)
            if call.is_done and call.duration_ms is not None and call.garbage_collection_ms is not None
        ]
        pauses = [pause for _, pause in timings if pause > 0]
        if len(pauses) >= _COMMON * len(timings) and pauses:
            texts.append(
                f"{number(len(pauses), 0)} of {plural(len(timings), f'{scenario} call')} contain a full garbage "
                f"collection of Python, {milliseconds(median(pauses))} at the median; a cold call ends before it "
                f"begins. Without it half of them take at most "
                f"{milliseconds(median(whole - pause for whole, pause in timings))}."
            )
    return " ".join(texts)


def _failures(result: StudyResult) -> str:
    attempts = len(result.calls) - pending_count(result.calls)
    if not attempts:
        return "No call was made yet."
    classes = failure_counts(result.calls)
    if not classes:
        return f"No failures in {plural(attempts, 'call')}."
    failed = sum(classes.values())
    listed = ", ".join(f"{number(count, 0)} {name}" for name, count in classes.most_common())
    return f"{plural(failed, 'failure')} in {plural(attempts, 'call')} ({percent(failed / attempts)}): {listed}."
