"""The results of a run, grouped by case."""

from __future__ import annotations

from collections.abc import Iterator

from ..values.case_states import CaseResult
from ..values.judgement import Judgement
from .eval_run import EvalRun


def case_results(run: EvalRun) -> Iterator[CaseResult]:
    """Yield every case of a run with its repeats, in the order of the set."""
    cases = run.evalset.cases
    if run.repeats == 1:
        for judgement in run.judgements():
            yield CaseResult(case=cases[judgement.position], judgements=(judgement,))
        return
    by_position: dict[int, list[Judgement]] = {}
    for judgement in run.judgements():
        by_position.setdefault(judgement.position, []).append(judgement)
    for place in sorted(by_position):
        yield CaseResult(case=cases[place], judgements=tuple(by_position[place]))
