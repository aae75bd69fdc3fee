"""The outcome of one case under one evaluator: the row that every summary and comparison is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCORED, NOT_APPLICABLE, ANSWER_FAILED, JUDGE_FAILED = "scored", "not_applicable", "answer_failed", "judge_failed"

OUTCOME_STATES: Final = (SCORED, NOT_APPLICABLE, ANSWER_FAILED, JUDGE_FAILED)
"""A score; a case that expects nothing of this evaluator; no answer; an answer that could not be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case, one repeat (from 0), one evaluator, and one `part` of it ("" for the whole case).

    Only a "scored" outcome has a `value`; `passed` is None when the evaluator has no threshold. `case_digest` is
    `EvalCase.digest`: two runs are compared on the cases with equal digests. `labels` are shown beside every number
    computed from the outcome ("simulated judge"); `trace_id` is the trace of the agent's answer, "" when unknown.
    """

    case_id: str
    case_digest: str
    repeat: int
    evaluator: str
    level: str
    part: str = ""
    value: float | None
    passed: bool | None
    state: str
    tags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    trace_id: str = ""

    def __post_init__(self) -> None:
        if self.state == SCORED:
            if self.value is None or self.value - self.value != 0:
                raise ValueError(f"a scored outcome needs a finite value, not {self.value}")
        elif self.state not in OUTCOME_STATES:
            raise ValueError(f"state must be one of {', '.join(OUTCOME_STATES)}, not {self.state!r}")
        elif self.value is not None or self.passed is not None:
            raise ValueError(
                f"an outcome in the state {self.state!r} must have neither value nor passed: it is not a low score"
            )
