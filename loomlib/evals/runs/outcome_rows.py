"""A run's outcomes, and its results gathered for a summary, out of its stored rows in one pass."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from ..compare.gathered import CaseResult, EvaluatorResults, count, folded
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.outcomes import ANSWER_FAILED, JUDGE_FAILED, NOT_APPLICABLE, SCORED, Outcome
from .panel import Bench, JudgeCard
from .stored_rows import judge_failures_of, labels_of

if TYPE_CHECKING:
    from loomlib.store import Store

Piece: TypeAlias = "tuple[str, float | None, bool | None, str, str | None]"
"""State, value, passed, part and labels (as they are stored) of one score, or of none."""

_ANSWER_FAILED: tuple[Piece, ...] = ((ANSWER_FAILED, None, None, "", None),)
_JUDGE_FAILED: tuple[Piece, ...] = ((JUDGE_FAILED, None, None, "", None),)


def read_outcomes(store: Store, run_id: str, evalset: EvalSet, bench: Bench) -> Iterator[Outcome]:
    """One for each result, evaluator and part, in the results' order. An answer that is not judged yet has none."""
    labels = _Labels()
    for case, repeat, trace_id, card, pieces in _said(store, run_id, evalset, bench):
        for state, value, passed, part, marks in pieces:
            yield Outcome(
                case_id=case.id, case_digest=case.digest, repeat=repeat, evaluator=card.name, level=card.level,
                part=part, value=value, passed=passed, state=state, tags=case.tags, labels=labels.of(marks),
                trace_id=trace_id,
            )  # fmt: skip


def read_gathered(store: Store, run_id: str, evalset: EvalSet, bench: Bench) -> dict[str, EvaluatorResults]:
    """What `gather(read_outcomes(…))` says, without an outcome for each."""
    found: dict[str, EvaluatorResults] = {}
    labels = _Labels()
    for case, _, trace_id, card, pieces in _said(store, run_id, evalset, bench):
        results = found.get(card.name)
        if results is None:
            results = found[card.name] = EvaluatorResults(evaluator=card.name, level=card.level)
        result = results.cases.get(case.id)
        if result is None:
            result = results.cases[case.id] = CaseResult(case.id, case.digest, case.tags)
        if trace_id and trace_id not in result.trace_ids:
            result.trace_ids += (trace_id,)
        for piece in pieces:
            if piece[4] is not None:
                results.labels.update(dict.fromkeys(labels.of(piece[4])))
        wholes = pieces if len(pieces) == 1 and not pieces[0][3] else [each for each in pieces if not each[3]]
        for state, value, passed, _, _ in wholes:
            count(results, result, state, value, passed)
        if not wholes:
            count(results, result, *folded([(state, value, passed) for state, value, passed, _, _ in pieces]))
    return found


@contextmanager
def no_garbage_looked_for() -> Generator[None, None, None]:
    """For a block that builds much, drops nothing, and lasts no longer than a second or two.

    Otherwise the collector looks again and again at all that is built, and at every case.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _said(
    store: Store, run_id: str, evalset: EvalSet, bench: Bench
) -> Iterator[tuple[EvalCase, int, str, JudgeCard, Sequence[Piece]]]:
    """What each evaluator said of each result, in their order; of who said nothing yet, nothing."""
    cases, cards = evalset.cases, bench.cards
    with store.eval_answers.stream_run(run_id) as (results, rows):
        row = next(rows, None)
        for repeat, place, judge_failures, is_failure, trace_id in results:
            case = cases[place]
            case_digest = case.digest
            said: dict[str, list[Piece]] = {}
            while row is not None and (row[0], row[1]) <= (repeat, place):
                _, _, of_case, evaluator, value, passed, part, labels = row
                if of_case == case_digest:
                    state = SCORED if value is not None else NOT_APPLICABLE
                    said.setdefault(evaluator, []).append((state, value, passed, part or "", labels))
                row = next(rows, None)
            failed = judge_failures_of(judge_failures) if judge_failures else ()
            for number in bench.of(place):
                card = cards[number]
                pieces: Sequence[Piece] = said.get(card.digest, ())
                if is_failure:
                    pieces = _ANSWER_FAILED
                elif card.name in failed:
                    pieces = _JUDGE_FAILED
                if pieces:
                    yield case, repeat, trace_id or "", card, pieces


class _Labels:
    """Labels read once for each text."""

    def __init__(self) -> None:
        self._read: dict[str | None, tuple[str, ...]] = {None: ()}

    def of(self, text: str | None) -> tuple[str, ...]:
        if text not in self._read:
            self._read[text] = labels_of(text)
        return self._read[text]
