"""A run's outcomes out of its stored rows, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..eval_set import EvalSet
from ..outcomes import ANSWER_FAILED, JUDGE_FAILED, NOT_APPLICABLE, SCORED, Outcome
from .panel import Bench
from .stored_words import judge_failures_of, labels_of

if TYPE_CHECKING:
    from loomlib.store import Store, StoredScore


def read_outcomes(store: Store, run_id: str, evalset: EvalSet, bench: Bench) -> Iterator[Outcome]:
    """One for each result, evaluator and part, in the results' order. An answer that is not judged yet has none."""
    rows = iter(store.eval_answers.scores_of_run(run_id))
    row = next(rows, None)
    labels: dict[str | None, tuple[str, ...]] = {None: ()}
    cases, cards = evalset.cases, bench.cards
    for result, is_failure, trace_id in store.eval_answers.faces_of_run(run_id):
        case, at = cases[result.place], (result.repeat, result.place)
        said: dict[str, list[StoredScore]] = {}
        while row is not None and row[:2] <= at:
            score = row[2]
            if score.case_digest == case.digest:
                said.setdefault(score.evaluator_digest, []).append(score)
                if score.labels not in labels:
                    labels[score.labels] = labels_of(score.labels)
            row = next(rows, None)
        failed = judge_failures_of(result.judge_failures)
        for number in bench.of(result.place):
            card = cards[number]
            if is_failure or card.name in failed:
                yield Outcome(
                    case_id=case.id, case_digest=case.digest, repeat=result.repeat, evaluator=card.name,
                    level=card.level, value=None, passed=None, tags=case.tags, trace_id=trace_id or "",
                    state=ANSWER_FAILED if is_failure else JUDGE_FAILED,
                )  # fmt: skip
                continue
            for score in said.get(card.digest, ()):
                yield Outcome(
                    case_id=case.id, case_digest=case.digest, repeat=result.repeat, evaluator=card.name,
                    level=card.level, part=score.part or "", value=score.value, passed=score.passed,
                    state=NOT_APPLICABLE if score.value is None else SCORED, tags=case.tags,
                    labels=labels[score.labels], trace_id=trace_id or "",
                )  # fmt: skip
