"""What an evaluator returned or raised, as scores, "does not apply", or a failure to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from ..values.answers import CaseAnswer, CaseFailure
from ..values.evaluator import NotApplicable, Score

if TYPE_CHECKING:
    from ..values.evaluator import Evaluator

Judged: TypeAlias = "tuple[Score, ...] | NotApplicable | CaseFailure"
"""The score of the whole case first, those of its parts behind it."""

_LONGEST_MESSAGE = 2000


def judged_of(found: object, evaluator: str) -> Judged:
    """What a returned verdict means. `TypeError` or `ValueError` when it means nothing."""
    if isinstance(found, bool):
        return (Score(value=float(found), passed=found),)
    if isinstance(found, Score):
        return (found,) if not found.part else _with_whole((found,))
    if isinstance(found, (NotApplicable, CaseFailure)):
        return found
    if isinstance(found, (int, float)):
        return (Score(value=float(found)),)
    if isinstance(found, Sequence) and not isinstance(found, (str, bytes)):
        parts = cast("Sequence[object]", found)
        if not parts:
            return NotApplicable("there was nothing to judge")
        if all(isinstance(each, Score) for each in parts):
            return _with_whole(cast("Sequence[Score]", parts))
    kind: str = type(cast("object", found)).__name__
    raise TypeError(f"{evaluator} returned {kind}: a verdict is a Score, a bool, a float or Scores")


def failure_of(error: BaseException, evaluator: Evaluator, answer: CaseAnswer) -> CaseFailure:
    """What raising means: the evaluator's own kind where it tells one ("malformed", "aws:…")."""
    kind = getattr(error, "kind", None)
    if not isinstance(kind, str):
        if evaluator.needs_tools and answer.tools is None:
            kind = "no_trajectory"
        else:
            kind = "timeout" if isinstance(error, TimeoutError) else "exception"
    message = str(error) or type(error).__name__
    if kind == "exception":
        message = f"{type(error).__name__}: {message}"
    attempts = getattr(error, "attempts", 1)
    return CaseFailure(
        stage="judge",
        kind=kind,
        message=message[:_LONGEST_MESSAGE],
        evaluator=evaluator.name,
        attempts=attempts if isinstance(attempts, int) else 1,
    )


def _with_whole(parts: Sequence[Score]) -> tuple[Score, ...]:
    """The parts behind the score of the whole, which is their mean where the evaluator gave none, or several."""
    wholes = [each for each in parts if not each.part]
    if len(wholes) == 1:
        return (*wholes, *(each for each in parts if each.part))
    parts = [each if each.part else replace(each, part=f"part {at}") for at, each in enumerate(parts, 1)]
    labels = tuple(dict.fromkeys(label for each in parts for label in each.labels))
    passes = [each.passed for each in parts]
    whole = Score(
        value=sum(each.value for each in parts) / len(parts),
        passed=None if None in passes else all(passes),
        rationale=f"mean of {len(parts)} parts",
        labels=labels,
    )
    return (whole, *parts)
