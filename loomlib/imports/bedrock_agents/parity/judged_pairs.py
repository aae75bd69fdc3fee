"""The verdict of a rule on pairs of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from loomlib.evals.runs import EvalRun
from loomlib.evals.values.answers import CaseFailure
from loomlib.evals.values.evaluator import NotApplicable, Score
from loomlib.evals.values.judgement import Judgement

from .pairs import AnswerPair
from .rule import TOOLS

ALIKE: Final = "alike"
DIFFERS: Final = "differs"
NOT_JUDGED: Final = "not judged"
FAILED: Final = "failed"

CaseVerdicts = Mapping[str, tuple[Score, ...] | NotApplicable | CaseFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """A pair with the rule's verdict.

    Attributes:
        pair: The pair.
        state: "alike", "differs", "not judged" (an evaluator could not judge it), or "failed" (an agent did not
            answer). The last two are counted by class and are not part of any share or mean.
        reasons: Why they differ, or why there is no verdict.
        kinds: The classes of failures, such as "old: throttle" or "tools: no_trajectory".
        parts: What differs: "answer", "tools" or both.
        verdicts: The result of each evaluator.
    """

    pair: AnswerPair
    state: str
    reasons: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    verdicts: CaseVerdicts = field(
        default_factory=dict[str, "tuple[Score, ...] | NotApplicable | CaseFailure"], repr=False
    )

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict."""
        return self.state in (ALIKE, DIFFERS)


def judge_pairs(pairs: Sequence[AnswerPair], run: EvalRun | None) -> tuple[JudgedPair, ...]:
    """Return the pairs with the verdicts of the run that judged the answered ones.

    Args:
        pairs: The pairs.
        run: The run; None if no pair was answered by both agents.
    """
    judgements: dict[str, Judgement] = {} if run is None else {item.case_id: item for item in run.judgements()}
    return tuple(_judged(pair, judgements.get(pair.id)) for pair in pairs)


def failure_counts(judged: Sequence[JudgedPair]) -> dict[str, int]:
    """Return the number of pairs without a verdict by class, the most frequent first."""
    return dict(Counter(kind for item in judged for kind in item.kinds).most_common())


def labels_of(judged: Sequence[JudgedPair]) -> tuple[str, ...]:
    """Return the provenance labels of the verdicts, such as `simulated judge`."""
    scores = (score for item in judged for verdict in item.verdicts.values() if isinstance(verdict, tuple)
              for score in verdict)  # fmt: skip
    return tuple(dict.fromkeys(label for score in scores for label in score.labels))


def _judged(pair: AnswerPair, judgement: Judgement | None) -> JudgedPair:
    if not pair.is_answered:
        sides = [(side, answer.failure) for side, answer in (("old", pair.old), ("new", pair.new))]
        failed = [(side, failure) for side, failure in sides if failure is not None]
        return JudgedPair(
            pair=pair,
            state=FAILED,
            kinds=tuple(f"{side}: {failure.kind}" for side, failure in failed),
            reasons=tuple(f"The {side} agent did not answer: {failure.message}" for side, failure in failed),
        )
    if judgement is None:
        return JudgedPair(pair=pair, state=NOT_JUDGED, kinds=("pending",), reasons=("It has not been judged yet.",))
    verdicts = judgement.verdicts
    broken = {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, CaseFailure)}
    scores = {name: verdict[0] for name, verdict in verdicts.items() if isinstance(verdict, tuple) and verdict}
    failed = {name: score for name, score in scores.items() if not score.passed}
    # A pair differs if one evaluator finds a difference, even if another one could not judge it.
    if failed:
        return JudgedPair(
            pair=pair,
            state=DIFFERS,
            reasons=tuple(f"{name}: {score.rationale or 'not passed'}" for name, score in failed.items()),
            parts=tuple(dict.fromkeys("tools" if name == TOOLS else "answer" for name in failed)),
            verdicts=verdicts,
        )
    if broken or not any(name != TOOLS for name in scores):
        return JudgedPair(
            pair=pair,
            state=NOT_JUDGED,
            kinds=tuple(f"{name}: {failure.kind}" for name, failure in broken.items()) or ("nothing to compare",),
            reasons=tuple(f"{name}: {failure.message}" for name, failure in broken.items())
            or ("No evaluator applies to the old agent's answer.",),
            verdicts=verdicts,
        )
    return JudgedPair(pair=pair, state=ALIKE, verdicts=verdicts)
