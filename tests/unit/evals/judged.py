"""Cases and answers in one line each, for the tests of evaluators."""

from __future__ import annotations

from typing import Any

from loomlib.evals import CaseAnswer, EvalCase, ExpectedTool, NotApplicable, Score, ToolUse, Turn, TurnAnswer
from loomlib.evals.registry import make_evaluator


def expected(*calls: str | ExpectedTool) -> tuple[ExpectedTool, ...]:
    """Expected tools; a text is a name."""
    return tuple(ExpectedTool(name=each) if isinstance(each, str) else each for each in calls)


def used(*calls: str | ToolUse) -> tuple[ToolUse, ...]:
    """Tools that were used; a text is a name, called without arguments."""
    return tuple(ToolUse(name=each, arguments={}) if isinstance(each, str) else each for each in calls)


def case_of(*turns: Turn, **more: Any) -> EvalCase:
    return EvalCase(id="case", turns=turns, **more)


def answer_of(*turns: TurnAnswer | str, **more: Any) -> CaseAnswer:
    return CaseAnswer(turns=tuple(TurnAnswer(text=t) if isinstance(t, str) else t for t in turns), **more)


def judged(choice: Any, case: EvalCase, answer: CaseAnswer) -> Any:
    return make_evaluator(choice).judge(case, answer)


def value(choice: Any, expectation: str, text: str) -> float | None:
    """The value of one answer to one expectation; None when it does not apply."""
    found = judged(choice, case_of(Turn(prompt="p", expected_answer=expectation)), answer_of(text))
    return None if isinstance(found, NotApplicable) else whole(found).value


def path_score(choice: Any, wanted: Any, came: Any) -> Score:
    """The score of one path."""
    case = case_of(Turn(prompt="p", expected_tools=expected(*wanted)))
    return whole(judged(choice, case, answer_of(TurnAnswer(text="", tools=used(*came)))))


def whole(found: Any) -> Score:
    score = found[0] if isinstance(found, list) else found
    assert isinstance(score, Score)
    assert score.part == ""
    return score
