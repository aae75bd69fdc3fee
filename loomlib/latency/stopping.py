"""When a latency study has enough calls, by the stopping rule of its design."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loomlib.presentation.formats import number, percent
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.stopping import StoppingRule

from .design import StudyDesign
from .measurements import Measurement, of_scenario
from .scenarios import Scenario


def enough_calls(
    design: StudyDesign, rule: StoppingRule, read: Callable[[], Sequence[Measurement]], following: Measurement
) -> str | None:
    """Return a sentence with each scenario's interval when all of them are narrow enough; None to go on.

    Args:
        design: The study's design.
        rule: Its stopping rule.
        read: Reads the calls of the study; called only when a look is due.
        following: The next call of the plan.
    """
    scenarios = [scenario for scenario, count in design.counts.items() if count]
    # Looks follow from the position in the plan alone, so they are the same after a resumption.
    if following.position % len(scenarios) or not rule.is_look(following.position // len(scenarios)):
        return None
    calls = [call for call in read() if call.position < following.position]
    shown: list[str] = []
    for scenario in scenarios:
        estimate = _estimate(rule, of_scenario(calls, scenario), design.counts[scenario])
        if not rule.is_met(estimate):
            return None
        shown.append(_shown(rule, scenario, estimate))
    return (
        f"Stopped after {number(following.position, 0)} of {number(sum(design.counts.values()), 0)} planned calls, at "
        f"{design.until}{' in each scenario' if len(shown) > 1 else ''}: {'; '.join(shown)}. These 95 % intervals hold "
        "however often a study looks; other intervals of this study assume a size that was chosen before."
    )


def _estimate(rule: StoppingRule, calls: Sequence[Measurement], planned: int) -> Estimate:
    durations = [call.duration_ms for call in calls if call.is_done and call.duration_ms is not None]
    return rule.estimate(durations, sum(call.is_failed for call in calls), planned=planned)


def _shown(rule: StoppingRule, scenario: Scenario, estimate: Estimate) -> str:
    if rule.p is None:
        return f"{scenario} failures {percent(estimate.value)} [{percent(estimate.low)}–{percent(estimate.high)}]"
    return f"{scenario} p{number(100 * rule.p)} {estimate.text('ms')}"
