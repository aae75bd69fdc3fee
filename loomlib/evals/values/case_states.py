"""The state of a case: of one repeat, and of all repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .answers import CaseFailure
from .cases import EvalCase
from .evaluator import NotApplicable, Score
from .judgement import Judgement
from .outcomes import ANSWER_FAILED, JUDGE_FAILED, Outcome
from .outcomes import NOT_APPLICABLE as DOES_NOT_APPLY

FAILED, NOT_ANSWERED, NOT_JUDGED = "failed", "not answered", "not judged"
SCORED, PASSED, NOT_APPLICABLE = "scored", "passed", "not applicable"

CASE_STATES: Final = (FAILED, NOT_ANSWERED, NOT_JUDGED, SCORED, PASSED, NOT_APPLICABLE)
"""In order of priority. "failed": an evaluator did not pass it. "not judged": no evaluator failed it, but at least one
could not judge it. "scored": it has scores without a threshold."""

_RANKS: Final[Mapping[str, int]] = {state: rank for rank, state in enumerate(CASE_STATES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case with the judgements of its repeats; its state is that of the worst repeat."""

    case: EvalCase
    judgements: tuple[Judgement, ...]

    @property
    def state(self) -> str:
        """One of `CASE_STATES`."""
        return worst([state_of(judgement) for judgement in self.judgements])

    def failing(self) -> tuple[Judgement, ...]:
        """Return the repeats whose state is the case's state."""
        return tuple(judgement for judgement in self.judgements if state_of(judgement) == self.state)


def worst(states: Sequence[str]) -> str:
    """Return the state with the highest priority; "not judged" when there is none."""
    return min(states, key=_RANKS.__getitem__, default=NOT_JUDGED)


def deciding(scores: Sequence[Score]) -> Sequence[Score]:
    """Return the scores that determine a case's state: those of the whole case, else those of its parts."""
    return [score for score in scores if not score.part] or scores


def state_of(judgement: Judgement) -> str:
    """Return the state of one case and repeat."""
    if judgement.answer.failure is not None:
        return NOT_ANSWERED
    states: list[str] = []
    for verdict in judgement.verdicts.values():
        if isinstance(verdict, CaseFailure):
            states.append(NOT_JUDGED)
        elif isinstance(verdict, NotApplicable):
            states.append(NOT_APPLICABLE)
        else:
            states += [_of_score(score) for score in deciding(verdict)]
    return worst(states)


def states_of_outcomes(outcomes: Sequence[Outcome]) -> dict[tuple[str, int], str]:
    """Return the state of every (case id, repeat) of a run, without reading the answers."""
    states: dict[tuple[str, int], str] = {}
    has_parts = any(outcome.part for outcome in outcomes)
    wholes = {_key(outcome) for outcome in outcomes if has_parts and not outcome.part}
    for outcome in outcomes:
        if outcome.part and _key(outcome) in wholes:
            continue
        state = _of_outcome(outcome)
        at = (outcome.case_id, outcome.repeat)
        current_state = states.get(at)
        if current_state is None or _RANKS[state] < _RANKS[current_state]:
            states[at] = state
    return states


def _key(outcome: Outcome) -> tuple[str, str, int]:
    return outcome.evaluator, outcome.case_id, outcome.repeat


def _of_score(score: Score) -> str:
    return SCORED if score.passed is None else PASSED if score.passed else FAILED


def _of_outcome(outcome: Outcome) -> str:
    if outcome.state == ANSWER_FAILED:
        return NOT_ANSWERED
    if outcome.state == JUDGE_FAILED:
        return NOT_JUDGED
    if outcome.state == DOES_NOT_APPLY:
        return NOT_APPLICABLE
    return SCORED if outcome.passed is None else PASSED if outcome.passed else FAILED
