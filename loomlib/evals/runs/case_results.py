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
        for each in run.judgements():
            yield CaseResult(case=cases[each.position], judgements=(each,))
        return
    found: dict[int, list[Judgement]] = {}
    for each in run.judgements():
        found.setdefault(each.position, []).append(each)
    for place in sorted(found):
        yield CaseResult(case=cases[place], judgements=tuple(found[place]))
