"""A study in sentences: the answer first, each number with its interval or the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loomlib.presentation.formats import milliseconds, number, percent, plural

from .measurements import Measurement
from .scenarios import Scenario
from .summaries import StudySummary

_GROUPS: Mapping[tuple[Scenario, ...], str] = {
    (Scenario.WARM, Scenario.STICKY): "After that",
    (Scenario.WARM,): "In a session that is warm",
    (Scenario.STICKY,): "In a long-lived session",
}


def tell(summary: StudySummary, measurements: Sequence[Measurement]) -> list[str]:
    """What a new session costs, how soon answers begin after that, and what failed."""
    sentences = [_session_cost(summary), _answers_begin(summary), _failures(measurements)]
    if owed := sum(each.is_owed for each in measurements):
        sentences.append(f"This study is not finished: {plural(owed, 'call')} still owed.")
    return [sentence for sentence in sentences if sentence]


def _session_cost(summary: StudySummary) -> str:
    cost = summary.session_cost
    if cost is None:
        return _cold_alone(summary)
    found = cost.estimate
    where = "before the agent starts" if cost.basis == "the agent starts" else f"before {cost.basis}"
    if found.value is None or found.low is None or found.high is None:
        return (
            f"What a new session costs is not known: {plural(found.n, 'pair')} of a cold and a warm call, "
            f"{found.needed_n} are needed."
        )
    if found.low <= 0 <= found.high:
        return (
            f"A new session makes no difference that {plural(found.n, 'pair')} of calls could show {where} "
            f"({milliseconds(found.value)}, 95 % interval {found.interval})."
        )
    if found.value < 0:
        return (
            f"A new session takes {milliseconds(-found.value)} less (95 % interval of the difference {found.interval}) "
            f"{where} than a warm one."
        )
    return f"A new session costs {milliseconds(found.value)} (95 % interval {found.interval}) {where}."


def _cold_alone(summary: StudySummary) -> str:
    for each in summary.scenarios:
        if each.scenario is Scenario.COLD:
            if each.ttft_p50.value is not None:
                return (
                    f"Half of the cold calls begin to answer within {milliseconds(each.ttft_p50.value)} "
                    f"(95 % interval {each.ttft_p50.interval}); what of that a new session costs takes warm calls too."
                )
            return f"Too few cold calls were answered for a percentile ({each.n}; {each.ttft_p50.needed_n} are needed)."
    return ""


def _answers_begin(summary: StudySummary) -> str:
    present = tuple(each.scenario for each in summary.scenarios if each.scenario is not Scenario.COLD)
    if not present:
        return ""
    opening = _GROUPS[present]
    p90 = summary.answers_begin_p90
    if p90.value is not None:
        few = f"; {plural(p90.n, 'call')} are few for its upper end" if p90.open_above else ""
        return f"{opening}, 9 in 10 answers begin within {milliseconds(p90.value)} (95 % interval {p90.interval}{few})."
    medians = [each.ttft_p50 for each in summary.scenarios if each.scenario in present]
    if len(medians) == 1 and medians[0].value is not None:
        return f"{opening}, half of the answers begin within {milliseconds(medians[0].value)}."
    return f"{opening}, too few calls were answered to say when 9 in 10 begin ({p90.n}; {p90.needed_n} are needed)."


def _failures(measurements: Sequence[Measurement]) -> str:
    made = [each for each in measurements if not each.is_owed]
    if not made:
        return "No call was made yet."
    classes = Counter(each.failure or "unknown" for each in made if each.is_failed)
    if not classes:
        return f"No failures in {plural(len(made), 'call')}."
    failed = sum(classes.values())
    told = ", ".join(f"{number(count, 0)} {name}" for name, count in classes.most_common())
    return f"{plural(failed, 'failure')} in {plural(len(made), 'call')} ({percent(failed / len(made))}): {told}."
