"""The result of one case and repeat of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .answers import CaseAnswer, CaseFailure
from .evaluator import NotApplicable, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer to one case and repeat, and the verdict of each evaluator.

    Attributes:
        case_id: The case's id.
        position: The case's position in the set, from 0.
        repeat: The repeat, from 0.
        is_reused: Whether the answer was stored by another run.
        answer: The answer.
        verdicts: By evaluator: its scores (the whole case first), why it does not apply, or why it failed.
    """

    case_id: str
    position: int
    repeat: int
    is_reused: bool
    answer: CaseAnswer
    verdicts: Mapping[str, tuple[Score, ...] | NotApplicable | CaseFailure]
