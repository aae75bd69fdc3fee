"""The session's state at the end of the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..matching.matchers import ABSENT, json_equal
from ..matching.tool_matching import printable
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .turn_by_turn import BaseEvaluator


@dataclass(frozen=True, kw_only=True)
class FinalState(BaseEvaluator):
    """Share of the expected keys that hold the expected value in the session's state; additional keys are ignored.

    Attributes:
        key: Check only this key.
        value: The expected value of `key`, in place of the case's.
    """

    level: ClassVar[str] = "session"

    key: str | None = None
    value: Any = None

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score | NotApplicable:
        """Return the share; the verdict for each key is in the details."""
        expected_state = dict(case.final_state or {})
        if self.key is not None:
            expected_value = self.value if self.value is not None else expected_state.get(self.key, ABSENT)
            expected_state = {} if expected_value is ABSENT else {self.key: expected_value}
        if not expected_state:
            return NotApplicable("the case expects no final state")
        if answer.state is None:
            raise JudgeFailedError("The agent did not report its state", kind="no_state", on=case.id)
        verdicts = {
            key: key in answer.state and json_equal(expected, answer.state[key])
            for key, expected in expected_state.items()
        }
        wrong = ", ".join(printable(key) for key, matches in verdicts.items() if not matches)
        value = sum(verdicts.values()) / len(verdicts)
        return self.score(value, f"unexpected values: {wrong}" if wrong else "", details={"state": verdicts})
