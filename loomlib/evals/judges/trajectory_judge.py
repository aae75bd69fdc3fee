"""Judge the whole trajectory: prompts, tool calls, results and answers (agent-as-a-judge)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable
from ..values.judge_error import JudgeFailedError
from .judge import ModelJudge
from .judge_input import JudgeInput, of_case
from .scales import FIVE, Scale
from .trajectory_text import RESULT_LIMIT, TRAJECTORY_VERSION, reference_text, trajectory_text

_INSTRUCTIONS = (
    "Judge the way in which the agent worked, step by step: whether each tool call was needed and rightly filled in, "
    "whether results were used as they were, whether anything was guessed that a tool should have told, and whether "
    "the answer follows from the steps. A right answer by a wrong way is a lapse. Where a reference is given, another "
    "way of the same worth is as good."
)


@dataclass(frozen=True, kw_only=True)
class TrajectoryJudge(ModelJudge):
    """Judges a case's whole trajectory; results longer than `result_limit` characters are shortened."""

    name: str = "judge:trajectory"
    instructions: str = _INSTRUCTIONS
    scale: Scale = FIVE
    level: str = "trajectory"
    needs_tools: bool = True
    rubric: str | None = None
    result_limit: int = RESULT_LIMIT

    @property
    def options(self) -> Sequence[object]:
        """The rubric, the result limit and the text's version, as part of the digest."""
        return (self.rubric, self.result_limit, TRAJECTORY_VERSION)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return the trajectory as one input; raise `JudgeFailedError` when it is unknown."""
        if answer.tools is None:
            raise JudgeFailedError(
                "The trajectory is unknown", kind="no_trajectory", on=case.id, try_="export the agent's traces"
            )
        material = of_case(case, answer)
        expected = case.expected_tools
        return [
            (
                "",
                JudgeInput(
                    output=material.output,
                    prompt=material.prompt,
                    golden=material.golden,
                    rubric=self.rubric,
                    trajectory=trajectory_text(case, answer, result_limit=self.result_limit),
                    reference=None if expected is None else reference_text(expected) or "no tool is needed",
                ),
            )
        ]
