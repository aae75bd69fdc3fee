"""Cases and answers in one line each, for the tests of evaluators."""

from __future__ import annotations

from typing import Any

from loomlib.evals import CaseAnswer, EvalCase, ExpectedTool, NotApplicable, Score, ToolUse, Turn, TurnAnswer
from loomlib.evals.registry import make_evaluator


def expected(*calls: str | ExpectedTool) -> tuple[ExpectedTool, ...]:
    """Expected tools; a text is a name."""
    return tuple(ExpectedTool(name=call) if isinstance(call, str) else call for call in calls)


def used(*calls: str | ToolUse) -> tuple[ToolUse, ...]:
    """Tools that were used; a text is a name, called without arguments."""
    return tuple(ToolUse(name=call, arguments={}) if isinstance(call, str) else call for call in calls)


def case_of(*turns: Turn, **more: Any) -> EvalCase:
    return EvalCase(id="case", turns=turns, **more)


def answer_of(*turns: TurnAnswer | str, **more: Any) -> CaseAnswer:
    return CaseAnswer(turns=tuple(TurnAnswer(text=t) if isinstance(t, str) else t for t in turns), **more)


def judged(choice: Any, case: EvalCase, answer: CaseAnswer) -> Any:
    return make_evaluator(choice).judge(case, answer)


def value(choice: Any, expectation: str, text: str) -> float | None:
    """The value of one answer to one expectation; None when it does not apply."""
    verdict = judged(choice, case_of(Turn(prompt="p", expected_answer=expectation)), answer_of(text))
    return None if isinstance(verdict, NotApplicable) else whole(verdict).value


def path_score(choice: Any, expected_path: Any, actual_path: Any) -> Score:
    """The score of one path."""
    case = case_of(Turn(prompt="p", expected_tools=expected(*expected_path)))
    return whole(judged(choice, case, answer_of(TurnAnswer(text="", tools=used(*actual_path)))))


def whole(verdict: Any) -> Score:
    score = verdict[0] if isinstance(verdict, list) else verdict
    assert isinstance(score, Score)
    assert score.part == ""
    return score
