"""Convert an evaluator's return value or exception to scores, "not applicable" or a failure to judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias, cast

from .answers import CaseAnswer, CaseFailure
from .evaluator import Evaluator, NotApplicable, Score

CaseScores: TypeAlias = "tuple[Score, ...] | NotApplicable | CaseFailure"
"""The score of the whole case followed by those of its parts, or the reason for a missing score."""

_MAX_MESSAGE: Final = 2000  # characters


def judged_of(returned: object, evaluator: str) -> CaseScores:
    """Convert the return value of an evaluator.

    Args:
        returned: A `Verdict`.
        evaluator: The evaluator's name, for the error.

    Raises:
        TypeError: `returned` is not a verdict.
        ValueError: `returned` is not a finite number.
    """
    if isinstance(returned, bool):
        return (Score(value=float(returned), passed=returned),)
    if isinstance(returned, Score):
        return (returned,) if not returned.part else _with_overall_score((returned,))
    if isinstance(returned, (NotApplicable, CaseFailure)):
        return returned
    if isinstance(returned, (int, float)):
        return (Score(value=float(returned)),)
    if isinstance(returned, Sequence) and not isinstance(returned, (str, bytes)):
        scores = cast("Sequence[object]", returned)
        if not scores:
            return NotApplicable("The evaluator returned no scores")
        if all(isinstance(score, Score) for score in scores):
            return _with_overall_score(cast("Sequence[Score]", scores))
    kind: str = type(cast("object", returned)).__name__
    raise TypeError(f"{evaluator} returned {kind}; return a Score, a bool, a float or several Scores")


def failure_of(error: BaseException, evaluator: Evaluator, answer: CaseAnswer) -> CaseFailure:
    """Convert the exception of an evaluator.

    Args:
        error: The exception; its attribute `kind`, where it has one, becomes the failure's ("malformed", "aws:…").
        evaluator: The evaluator that raised it.
        answer: The answer that was judged.
    """
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
        message=message[:_MAX_MESSAGE],
        evaluator=evaluator.name,
        attempts=attempts if isinstance(attempts, int) else 1,
    )


def _with_overall_score(scores: Sequence[Score]) -> tuple[Score, ...]:
    """Put the overall score first: the evaluator's own, else the mean of the parts."""
    wholes = [score for score in scores if not score.part]
    if len(wholes) == 1:
        return (*wholes, *(score for score in scores if score.part))
    scores = [score if score.part else replace(score, part=f"part {at}") for at, score in enumerate(scores, 1)]
    labels = tuple(dict.fromkeys(label for score in scores for label in score.labels))
    passes = [score.passed for score in scores]
    whole = Score(
        value=sum(score.value for score in scores) / len(scores),
        passed=None if None in passes else all(passes),
        rationale=f"mean of {len(scores)} parts",
        labels=labels,
    )
    return (whole, *scores)
