"""The gate of a load test at a fixed load: whether the SLO holds there, by the intervals of one step."""

from __future__ import annotations

from typing import Any, Final

from loomlib.experiments import Gate
from loomlib.presentation.formats import exact, milliseconds, number, percent, plural, seconds
from loomlib.statistics import CONFIDENCE, Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR

from ..load.slo import DOES_NOT_HOLD, HOLDS, NOT_ENOUGH_CALLS
from .result import LoadResult
from .steps import LoadTestStep, StepObjective

_METHOD: Final = "intervals of batches of calls in a row"
_OFFERED_SHARE: Final = 0.95
"""A client that sent a smaller share of the calls in time did not offer the load."""
_OUTCOMES: Final = {HOLDS: PASSED, DOES_NOT_HOLD: MISSED, NOT_ENOUGH_CALLS: UNCLEAR}


def gate_at(result: LoadResult, load: float) -> Gate:
    """Decide whether the SLO holds at a load that was offered.

    Passed: the whole 95 % interval of every objective is within its limit. Missed: that of one objective is beyond it.
        Otherwise, or when the client did not offer the load in time, the gate is unclear.

    Args:
        result: The load test.
        load: The load, in calls a second or users.

    Raises:
        ValueError: That load is not one of the test's.
    """
    design = result.design
    if design.is_search or load not in design.loads:
        loads = "a search" if design.is_search else ", ".join(exact(one) for one in design.loads)
        raise ValueError(f"the gate needs a load that was offered (loads={loads}), not {exact(load)}")
    step = next((one for one in result.by_load if one.load == load), None)
    unit = "users" if design.is_closed_loop else "calls a second"
    at = f"{exact(load)} {unit}, the SLO {design.slo}"
    if step is None or step.figures is None:
        return _gate(UNCLEAR, load, f"Gate unclear: at {at} is not decided; no step was made.", None)
    text = ", ".join(_figure_text(one) for one in step.objectives)
    outcome = _OUTCOMES[step.outcome]
    if (late := _client(step, outcome)) is not None:
        outcome = UNCLEAR
        text = f"{late}. {text}"
    verb = {PASSED: "is met", MISSED: "is not met", UNCLEAR: "is not decided"}[outcome]
    advice = _advice(step) if outcome == UNCLEAR and late is None else ""
    sentence = f"Gate {outcome}: at {at} {verb}: {text} ({plural(step.figures.n, 'call')}){advice}."
    return _gate(outcome, load, sentence, step)


def _gate(outcome: str, load: float, text: str, step: LoadTestStep | None) -> Gate:
    objectives = () if step is None else step.objectives
    worst = next((one for name in _OUTCOMES for one in objectives if one.outcome == name and name != HOLDS), None)
    deciding = worst or next(iter(objectives), None)
    figure = (
        Estimate.missing("no step was made", n=0, confidence=CONFIDENCE, method=_METHOD)
        if deciding is None
        else deciding.figure
    )
    data: dict[str, Any] = {"at_load": load, "objectives": [one.stored() for one in objectives]}
    return Gate(outcome=outcome, limit=load, figure=figure, text=text, data=data)


def _figure_text(one: StepObjective) -> str:
    return f"{one.name} {one.figure.text(one.kind)}"


def _client(step: LoadTestStep, outcome: str) -> str | None:
    """Return how the client failed to offer the load, or was late enough to explain why a limit is exceeded."""
    assert step.figures is not None
    made_share, lag_ms = step.figures.made_share, step.figures.lag.p99_ms
    if made_share is not None and made_share < _OFFERED_SHARE:
        return f"this client sent only {percent(made_share)} of the calls in time, so the load was not offered"
    beyond = [
        one.figure.value - one.limit
        for one in step.objectives
        if one.outcome == DOES_NOT_HOLD
        and one.kind == "ms"
        and one.figure.value is not None
        and one.figure.value > one.limit  # otherwise failed calls, which count as beyond the limit, are the reason
    ]
    errors_hold = all(one.outcome != DOES_NOT_HOLD for one in step.objectives if one.kind != "ms")
    if outcome == MISSED and errors_hold and beyond and lag_ms is not None and lag_ms > max(beyond):
        return f"this client sent calls up to {milliseconds(lag_ms)} late (p99), more than the excess over the limit"
    return None


def _advice(step: LoadTestStep) -> str:
    """Return how long the step must last for a decision, if its figures do not change."""
    assert step.figures is not None
    needed = [one.needed_n for one in step.objectives if one.outcome == NOT_ENOUGH_CALLS]
    sample_sizes = [n for n in needed if n is not None]
    if len(sample_sizes) < len(needed) or not sample_sizes or not step.figures.n:
        return "; more calls are needed: offer the load for longer"
    most = max(sample_sizes)
    return (
        f"; about {number(most)} calls are needed: offer the load for {seconds(step.seconds * most / step.figures.n)}"
    )
