"""A run's outcomes, and its results grouped for a summary, read from its stored rows in one pass."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from loomlib.store import Store

from ..compare.gathered import CaseScores, EvaluatorResults, count, folded
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.outcomes import ANSWER_FAILED, JUDGE_FAILED, NOT_APPLICABLE, SCORED, Outcome
from .assignment import AssignedEvaluator, EvaluatorAssignment
from .stored_rows import judge_failures_of, labels_of

VerdictColumns: TypeAlias = "tuple[str, float | None, bool | None, str, str | None]"
"""State, value, passed, part and stored labels of one score, or of a missing score."""

_ANSWER_FAILED: Final[tuple[VerdictColumns, ...]] = ((ANSWER_FAILED, None, None, "", None),)
_JUDGE_FAILED: Final[tuple[VerdictColumns, ...]] = ((JUDGE_FAILED, None, None, "", None),)


def read_outcomes(store: Store, run_id: str, evalset: EvalSet, assignment: EvaluatorAssignment) -> Iterator[Outcome]:
    """Yield one outcome per result, evaluator and part, in the order of the results.

    An answer without a verdict has no outcome yet.

    Args:
        store: The store with the run.
        run_id: The run.
        evalset: The run's set.
        assignment: The evaluators of each case.
    """
    labels = _Labels()
    for case, repeat, trace_id, evaluator, verdicts in _verdicts(store, run_id, evalset, assignment):
        for state, value, passed, part, stored_labels in verdicts:
            yield Outcome(
                case_id=case.id, case_digest=case.digest, repeat=repeat, evaluator=evaluator.name,
                level=evaluator.level, part=part, value=value, passed=passed, state=state, tags=case.tags,
                labels=labels.of(stored_labels), trace_id=trace_id,
            )  # fmt: skip


def read_gathered(
    store: Store, run_id: str, evalset: EvalSet, assignment: EvaluatorAssignment
) -> dict[str, EvaluatorResults]:
    """Return `gather(read_outcomes(…))` without constructing an outcome for each row.

    Args:
        store: The store with the run.
        run_id: The run.
        evalset: The run's set.
        assignment: The evaluators of each case.
    """
    gathered: dict[str, EvaluatorResults] = {}
    labels = _Labels()
    for case, _, trace_id, evaluator, verdicts in _verdicts(store, run_id, evalset, assignment):
        results = gathered.get(evaluator.name)
        if results is None:
            results = gathered[evaluator.name] = EvaluatorResults(evaluator=evaluator.name, level=evaluator.level)
        result = results.cases.get(case.id)
        if result is None:
            result = results.cases[case.id] = CaseScores(case.id, case.digest, case.tags)
        if trace_id and trace_id not in result.trace_ids:
            result.trace_ids += (trace_id,)
        for verdict in verdicts:
            if verdict[4] is not None:
                results.labels.update(dict.fromkeys(labels.of(verdict[4])))
        is_single = len(verdicts) == 1 and not verdicts[0][3]
        wholes = verdicts if is_single else [verdict for verdict in verdicts if not verdict[3]]
        for state, value, passed, _, _ in wholes:
            count(results, result, state, value, passed)
        if not wholes:
            count(results, result, *folded([(state, value, passed) for state, value, passed, _, _ in verdicts]))
    return gathered


@contextmanager
def garbage_collection_paused() -> Generator[None, None, None]:
    """Pause the garbage collector for a block of a second or two that creates many objects and frees none.

    Otherwise the collector repeatedly scans all of these objects and every case.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _verdicts(
    store: Store, run_id: str, evalset: EvalSet, assignment: EvaluatorAssignment
) -> Iterator[tuple[EvalCase, int, str, AssignedEvaluator, Sequence[VerdictColumns]]]:
    """Yield the verdict of each evaluator on each result, in order."""
    cases, evaluators = evalset.cases, assignment.evaluators
    with store.eval_answers.stream_run(run_id) as (results, rows):
        row = next(rows, None)
        for repeat, position, judge_failures, is_failure, trace_id in results:
            case = cases[position]
            case_digest = case.digest
            scored: dict[str, list[VerdictColumns]] = {}
            while row is not None and (row[0], row[1]) <= (repeat, position):
                _, _, scored_digest, evaluator_digest, value, passed, part, labels = row
                if scored_digest == case_digest:
                    state = SCORED if value is not None else NOT_APPLICABLE
                    scored.setdefault(evaluator_digest, []).append((state, value, passed, part or "", labels))
                row = next(rows, None)
            failed = judge_failures_of(judge_failures) if judge_failures else ()
            for index in assignment.of(position):
                evaluator = evaluators[index]
                verdicts: Sequence[VerdictColumns] = scored.get(evaluator.digest, ())
                if is_failure:
                    verdicts = _ANSWER_FAILED
                elif evaluator.name in failed:
                    verdicts = _JUDGE_FAILED
                if verdicts:
                    yield case, repeat, trace_id or "", evaluator, verdicts


class _Labels:
    """Stored labels, parsed once per text."""

    def __init__(self) -> None:
        self._parsed: dict[str | None, tuple[str, ...]] = {None: ()}

    def of(self, text: str | None) -> tuple[str, ...]:
        if text not in self._parsed:
            self._parsed[text] = labels_of(text)
        return self._parsed[text]
