"""Steps and tokens that the agent used, against the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .paths import tools_of_answer
from .turn_by_turn import BaseEvaluator, TurnScores

KINDS: Final = ("both", "steps", "tokens")


@dataclass(frozen=True, kw_only=True)
class Efficiency(BaseEvaluator):
    """Reference usage divided by actual usage, at most 1: 0.5 means twice as much as the reference.

    Steps are tool calls against `reference_steps`, or else the number of expected calls. Tokens are those of the
    models, input and output, against `reference_tokens`. With both, the score is their mean and each is a part.
    Skipping a needed tool looks efficient; combine with `trajectory`.

    Attributes:
        threshold: Minimum value that passes; 0.5 by default.
        of: "both", "steps" or "tokens".
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    threshold: float | None = 0.5
    of: str = "both"

    def __post_init__(self) -> None:
        if self.of not in KINDS:
            raise ValueError(f"of must be one of {', '.join(KINDS)}, not {self.of!r}")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> TurnScores:
        """Return the mean over the references that the case has."""
        parts: list[Score] = []
        expected = case.expected_tools
        steps = (
            case.reference_steps if case.reference_steps is not None else None if expected is None else len(expected)
        )
        if self.of != "tokens" and steps is not None:
            parts.append(self._part("steps", steps, len(tools_of_answer(case, answer))))
        if self.of != "steps" and case.reference_tokens is not None:
            if answer.tokens is None:
                raise JudgeFailedError("The number of tokens used is unknown", kind="no_trajectory", on=case.id)
            parts.append(self._part("tokens", case.reference_tokens, answer.tokens))
        if not parts:
            return NotApplicable("the case has no reference steps or tokens")
        value = sum(part.value for part in parts) / len(parts)
        return [self.score(value, "; ".join(part.rationale for part in parts if part.rationale)), *parts]

    def _part(self, part: str, reference: int, spent: int) -> Score:
        value = 1.0 if spent <= reference else reference / spent
        rationale = "" if spent <= reference else f"{spent} {part}, reference {reference}"
        return self.score(value, rationale, part=part, details={"reference": reference, "spent": spent})
