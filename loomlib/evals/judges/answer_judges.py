"""Judges of answers: by rubrics, against the golden answer, by helpfulness, by the case's assertions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase, Rubric
from ..values.evaluator import NotApplicable
from .judge import ModelJudge
from .judge_input import JudgeInput, of_case, of_turn
from .scales import BINARY, CORRECTNESS, FIVE, Scale
from .trajectory_text import TRAJECTORY_VERSION, trajectory_text

_BY_RUBRIC = "Judge how far the output meets the rubric, and nothing else: not its style, its length or its manners."
_CORRECT = (
    "Judge whether the output is correct. The golden answer is the truth: wording and order do not matter, "
    "additional true detail does no harm, a contradiction does."
)
_HELPFUL = (
    "Judge how helpful the output is to whoever wrote the prompt: whether it answers what was asked, completely and in "
    "a form that can be used. A refusal helps only where one is due."
)
_ASSERTION = (
    "Judge whether the assertion in the rubric holds of the conversation: of the output, or of the steps in the "
    "trajectory."
)


@dataclass(frozen=True, kw_only=True)
class RubricJudge(ModelJudge):
    """Judges by rubrics: its own, or else those of the case and its turns. Each rubric is one question and one part.

    Examples:
        >>> agent.evaluate(evalset, RubricJudge(rubrics=(Rubric(text="Names the order's state"),)))
    """

    name: str = "rubric"
    instructions: str = _BY_RUBRIC
    scale: Scale = FIVE
    rubrics: tuple[Rubric, ...] = ()

    @property
    def options(self) -> Sequence[object]:
        """The rubrics, as part of the digest."""
        return (self.rubrics,)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return one input for each rubric."""
        whole = self.rubrics or case.rubrics
        inputs = [
            (_rubric_name(rubric, place), of_case(case, answer).with_rubric(rubric.text))
            for place, rubric in enumerate(whole, 1)
        ]
        if not self.rubrics:
            inputs += [
                (
                    f"turn {number}: {_rubric_name(rubric, at)}",
                    of_turn(case, answer, number - 1).with_rubric(rubric.text),
                )
                for number, turn in enumerate(case.turns[: len(answer.turns)], 1)
                for at, rubric in enumerate(turn.rubrics, 1)
            ]
        if not inputs:
            return NotApplicable("the case has no rubric")
        return [("", inputs[0][1])] if len(inputs) == 1 else inputs


@dataclass(frozen=True, kw_only=True)
class CorrectnessJudge(ModelJudge):
    """Judges each answer against the expected answer."""

    name: str = "judge:correctness"
    instructions: str = _CORRECT
    scale: Scale = CORRECTNESS

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return one input for each turn with an expected answer."""
        positions = [at for at, turn in enumerate(case.turns[: len(answer.turns)]) if turn.expected_answer is not None]
        if not positions:
            return NotApplicable("the case has no expected answer")
        if len(positions) == 1:
            return [("", of_turn(case, answer, positions[0]))]
        return [(f"turn {at + 1}", of_turn(case, answer, at)) for at in positions]


@dataclass(frozen=True, kw_only=True)
class HelpfulnessJudge(ModelJudge):
    """Judges how helpful the last answer is, without a golden answer."""

    name: str = "judge:helpfulness"
    instructions: str = _HELPFUL
    scale: Scale = FIVE

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return the last answer and its prompt."""
        expected = of_case(case, answer)
        return [("", JudgeInput(output=expected.output, prompt=expected.prompt))]


@dataclass(frozen=True, kw_only=True)
class AssertionJudge(ModelJudge):
    """Judges whether each of the case's assertions holds; tool calls are shown where they are known."""

    name: str = "judge:assertions"
    instructions: str = _ASSERTION
    scale: Scale = BINARY
    level: str = "session"

    @property
    def options(self) -> Sequence[object]:
        """The version of the trajectory's text, as part of the digest."""
        return (TRAJECTORY_VERSION,)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return one input for each assertion."""
        if not case.assertions:
            return NotApplicable("the case has no assertion")
        case_input = of_case(case, answer)
        trajectory = None if answer.tools is None else trajectory_text(case, answer)
        base_input = JudgeInput(output=case_input.output, prompt=case_input.prompt, trajectory=trajectory)
        return [
            (f"assertion {number}", base_input.with_rubric(assertion))
            for number, assertion in enumerate(case.assertions, 1)
        ]


def _rubric_name(rubric: Rubric, number: int) -> str:
    return rubric.id or f"rubric {number}"
