"""What the agent spent against the reference: steps and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .paths import tools_of_answer
from .turn_by_turn import Judged, Judgement

KINDS: Final = ("both", "steps", "tokens")


@dataclass(frozen=True, kw_only=True)
class Efficiency(Judgement):
    """reference / spent, 1 at most: 0.5 is twice as much as the reference, which is the bar unless `threshold` says so.

    Steps are tool calls against `reference_steps`, else as many as the case expects; tokens are the models', both
    directions, against `reference_tokens`. Of both, the mean, each a part. An agent that skips its tools is efficient:
    whether it did what it should is for `trajectory` to say.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    threshold: float | None = 0.5
    of: str = "both"

    def __post_init__(self) -> None:
        if self.of not in KINDS:
            raise ValueError(f"efficiency is of {', '.join(KINDS)}, not {self.of!r}")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Judged:
        """The mean of what the case has a reference for."""
        parts: list[Score] = []
        expected = case.expected_tools
        steps = (
            case.reference_steps if case.reference_steps is not None else None if expected is None else len(expected)
        )
        if self.of != "tokens" and steps is not None:
            parts.append(self._part("steps", steps, len(tools_of_answer(case, answer))))
        if self.of != "steps" and case.reference_tokens is not None:
            if answer.tokens is None:
                raise JudgeFailedError("Nobody knows how many tokens were used", kind="no_trajectory", on=case.id)
            parts.append(self._part("tokens", case.reference_tokens, answer.tokens))
        if not parts:
            return NotApplicable("the case has no reference of steps or tokens")
        value = sum(part.value for part in parts) / len(parts)
        return [self.score(value, "; ".join(part.rationale for part in parts if part.rationale)), *parts]

    def _part(self, part: str, reference: int, spent: int) -> Score:
        value = 1.0 if spent <= reference else reference / spent
        rationale = "" if spent <= reference else f"{spent} {part} where {reference} would do"
        return self.score(value, rationale, part=part, details={"reference": reference, "spent": spent})
