"""Base of the evaluators that judge turn by turn: the score of a case is the mean, and each turn is a named part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

from ..values.answers import CaseAnswer, TurnAnswer
from ..values.cases import EvalCase, Turn
from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score, reaches
from ..values.judge_error import JudgeFailedError

TurnScores: TypeAlias = "Score | NotApplicable | list[Score]"
"""The score of the case alone, or first the score of the case (its `part` is "") and then its parts."""

PASSED: Final = Score(value=1.0, passed=True)
"""One shared score for passes without details, which are most of a good agent's scores; see `full_score`."""


@dataclass(frozen=True, kw_only=True)
class BaseEvaluator:
    """Base of the evaluators in this package: a name, a threshold, and a digest of all options.

    `threshold` is the least value that passes, None for a score without a threshold.
    """

    VERSION: ClassVar[int] = 1
    level: ClassVar[str] = "answer"
    needs_tools: ClassVar[bool] = False
    is_quick: ClassVar[bool] = True

    name: str
    threshold: float | None = 1.0

    @property
    def digest(self) -> str:
        """Hash of the evaluator's kind, version and options; the column name is excluded."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        return digest_of(type(self).__name__, self._version, options)

    @property
    def _version(self) -> int:
        """Version of the scoring rules, one higher for a threshold other than 1.

        With a threshold of 1, the scores of release 0.1 remain valid.
        """
        return self.VERSION + (self.threshold != 1.0)

    @abstractmethod
    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> TurnScores:
        """Return the score of the case, followed by its parts where there are several."""

    def passes(self, value: float) -> bool | None:
        """Return whether a value reaches the threshold, None when there is none."""
        return None if self.threshold is None else reaches(value, self.threshold)

    @cached_property
    def full_score(self) -> Score:
        """The score of 1 without details: `PASSED` where 1 passes."""
        return PASSED if self.passes(1.0) else self.score(1.0)

    def score(self, value: float, rationale: str = "", **more: Any) -> Score:
        """Return a score with `passed` set by this evaluator's threshold."""
        return Score(value=value, passed=self.passes(value), rationale=rationale, **more)


def judge_turns(
    case: EvalCase,
    answer: CaseAnswer,
    judge_turn: Callable[[Turn, TurnAnswer], Score | None],
    passes: Callable[[float], bool | None],
    otherwise: NotApplicable,
) -> TurnScores:
    """Judge each turn and combine the scores.

    A case with one turn gets that turn's score; with several turns it gets their mean, followed by each as "turn 2".

    Args:
        case: The case.
        answer: The answer; every turn of the case must have one.
        judge_turn: Judges one turn; None leaves the turn out.
        passes: Decides whether the mean passes.
        otherwise: Returned when every turn is left out.

    Raises:
        JudgeFailedError: A turn has no answer although the case did not fail ("malformed").
    """
    turns, answers = case.turns, answer.turns
    if len(answers) < len(turns):
        raise JudgeFailedError(
            f"Only {len(answers)} of {len(turns)} turns have an answer", kind="malformed", on=case.id
        )
    if len(turns) == 1:
        return judge_turn(turns[0], answers[0]) or otherwise
    parts = [
        replace(score, part=f"turn {number}")
        for number, (turn, turn_answer) in enumerate(zip(turns, answers, strict=False), 1)
        if (score := judge_turn(turn, turn_answer)) is not None
    ]
    if not parts:
        return otherwise
    value = sum(part.value for part in parts) / len(parts)
    low = [part for part in parts if part.passed is False or (part.passed is None and part.value < 1)]
    rationale = "; ".join(f"{part.part}: {part.rationale}" for part in low if part.rationale)
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    return [Score(value=value, passed=passes(value), rationale=rationale, labels=labels), *parts]


@dataclass(frozen=True, kw_only=True)
class AnswerEvaluator(BaseEvaluator):
    """Base of the evaluators that compare each turn's answer with the expected one."""

    NOTHING: ClassVar[NotApplicable] = NotApplicable("the case expects no answer")

    def expected(self, turn: Turn) -> str | None:
        """Return what the turn's answer is compared with, None to leave the turn out."""
        return turn.expected_answer

    @abstractmethod
    def compare(self, expected: str, answer: str) -> Score | None:
        """Return the score of one answer; None when the expectation contains nothing to compare."""

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> TurnScores:
        """Return the mean over the turns with an expected answer."""
        return judge_turns(case, answer, self._turn, self.passes, self.NOTHING)

    def _turn(self, turn: Turn, answer: TurnAnswer) -> Score | None:
        expected = self.expected(turn)
        return None if expected is None else self.compare(expected, answer.text)
