"""The watched figures: those of the scenarios and of the eval sets that the nights have."""

from __future__ import annotations

from collections.abc import Sequence

from ..scenarios import Scenario
from .metrics import (
    COST,
    EVAL_METRICS,
    FAILURES,
    PASS_RATE,
    SCENARIO_METRICS,
    SCORE,
    EvalFigure,
    ScenarioFigure,
    WatchedFigure,
)
from .nights import ANSWERS, ANSWERS_COST, Night


def watched_figures(nights: Sequence[Night], scenarios: Sequence[str], metrics: Sequence[str]) -> list[WatchedFigure]:
    """Return the figures to watch, those of calls first.

    Args:
        nights: The nights.
        scenarios: The scenarios; empty for all scenarios and the evaluations.
        metrics: The metrics; empty for all, but the mean score only of evaluators whose scores do not pass or fail.
    """
    of_calls: list[WatchedFigure] = [
        ScenarioFigure(scenario=scenario, metric=metric)
        for scenario in ([Scenario(name) for name in scenarios] or list(Scenario))
        for metric in SCENARIO_METRICS
        if metric in (metrics or SCENARIO_METRICS)
    ]
    return of_calls if scenarios else [*of_calls, *_of_evaluations(nights, metrics)]


def _of_evaluations(nights: Sequence[Night], metrics: Sequence[str]) -> list[WatchedFigure]:
    mean_keys = {key for night in nights for key in night.means}
    figures: list[WatchedFigure] = []
    for kind, eval_set, evaluator in dict.fromkeys(
        group for night in nights for group in night.conditions if group[0] in (ANSWERS, ANSWERS_COST)
    ):
        group = (kind, eval_set, evaluator)
        selected_metrics = metrics or (PASS_RATE if (group, PASS_RATE) in mean_keys else SCORE, FAILURES, COST)
        figures += [
            EvalFigure(eval_set=eval_set, evaluator=evaluator, metric=metric)
            for metric in EVAL_METRICS
            if metric in selected_metrics and (group, metric) in mean_keys
        ]
    return figures
