"""One judgement a turn: the whole is their mean, and the turns are named parts of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

from ..values.answers import CaseAnswer, TurnAnswer
from ..values.cases import EvalCase, Turn
from ..values.digests import digest_of
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError

Judged: TypeAlias = "Score | NotApplicable | list[Score]"
"""The whole alone; or the whole first (its `part` is "") and its parts behind it."""

PASSED: Final = Score(value=1.0, passed=True)
"""Shared by every judgement that has nothing more to say: most of a good agent's."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the evaluators of this package have in common: a name, a bar, and a digest of all options.

    `threshold` is the least value that passes, None for a score without a bar.
    """

    VERSION: ClassVar[int] = 1
    level: ClassVar[str] = "answer"
    needs_tools: ClassVar[bool] = False
    is_quick: ClassVar[bool] = True

    name: str
    threshold: float | None = 1.0

    @property
    def digest(self) -> str:
        """Of the kind of evaluator, its version and its options; the column's name is no part of it."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        options = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "name"}
        return digest_of(type(self).__name__, self.VERSION, options)

    @abstractmethod
    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Judged:
        """The score of the whole, its parts behind it where there are several."""

    def passes(self, value: float) -> bool | None:
        """Whether a value reaches the bar; None when there is none."""
        return None if self.threshold is None else value >= self.threshold

    def score(self, value: float, rationale: str = "", **more: Any) -> Score:
        """A score with `passed` by this evaluator's bar."""
        return Score(value=value, passed=self.passes(value), rationale=rationale, **more)


def judge_turns(
    case: EvalCase,
    answer: CaseAnswer,
    judge_turn: Callable[[Turn, TurnAnswer], Score | None],
    passes: Callable[[float], bool | None],
    otherwise: NotApplicable,
) -> Judged:
    """`judge_turn` of each turn; None from it leaves the turn out, and all of them left out is `otherwise`.

    Of a single turn its score; of several their mean, then each as "turn 2". A turn without an answer in an answer that
    did not fail is a failure to judge.
    """
    turns, answers = case.turns, answer.turns
    if len(answers) < len(turns):
        raise JudgeFailedError(f"{len(answers)} of {len(turns)} turns have an answer", kind="malformed", on=case.id)
    if len(turns) == 1:
        return judge_turn(turns[0], answers[0]) or otherwise
    parts = [
        replace(score, part=f"turn {place}")
        for place, (turn, given) in enumerate(zip(turns, answers, strict=False), 1)
        if (score := judge_turn(turn, given)) is not None
    ]
    if not parts:
        return otherwise
    value = sum(part.value for part in parts) / len(parts)
    low = [part for part in parts if part.passed is False or (part.passed is None and part.value < 1)]
    rationale = "; ".join(f"{part.part}: {part.rationale}" for part in low if part.rationale)
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    return [Score(value=value, passed=passes(value), rationale=rationale, labels=labels), *parts]


@dataclass(frozen=True, kw_only=True)
class AnswerJudgement(Judgement):
    """Judges each turn's answer against the expected one."""

    NOTHING: ClassVar[NotApplicable] = NotApplicable("the case expects no answer")

    def expected(self, turn: Turn) -> str | None:
        """What the turn's answer is compared with, None to leave the turn out."""
        return turn.expected_answer

    @abstractmethod
    def compare(self, expected: str, answer: str) -> Score | None:
        """The score of one answer; None when the expectation says nothing to this evaluator."""

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Judged:
        """The mean over the turns that expect an answer."""
        return judge_turns(case, answer, self._turn, self.passes, self.NOTHING)

    def _turn(self, turn: Turn, answer: TurnAnswer) -> Score | None:
        expected = self.expected(turn)
        return None if expected is None else self.compare(expected, answer.text)
