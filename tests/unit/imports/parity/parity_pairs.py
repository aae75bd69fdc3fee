"""Pairs of answers for tests: written by hand, and drawn at random."""

from __future__ import annotations

from typing import Any

from loomlib.evals.values.answers import CaseAnswer, CaseFailure, TurnAnswer
from loomlib.evals.values.cases import EvalCase, Turn
from loomlib.evals.values.tool_use import ToolUse
from loomlib.imports.bedrock_agents.parity.judged_pairs import ALIKE, DIFFERS, FAILED, JudgedPair
from loomlib.imports.bedrock_agents.parity.pairs import AnswerPair


def answer(text: str, *tools: ToolUse, **more: Any) -> CaseAnswer:
    return CaseAnswer(turns=(TurnAnswer(text=text, tools=tools, tools_state="found", **more),))


def failed(kind: str) -> CaseAnswer:
    return CaseAnswer(turns=(), failure=CaseFailure(stage="answer", kind=kind, message=f"{kind} happened"))


def use(name: str, **arguments: Any) -> ToolUse:
    return ToolUse(name=name, arguments=arguments)


def case(id: str, prompt: str = "What is the weather?") -> EvalCase:
    return EvalCase(id=id, turns=(Turn(prompt=prompt),))


def pair(id: str, old: CaseAnswer, new: CaseAnswer, repeat: int = 0) -> AnswerPair:
    return AnswerPair(case=case(id), repeat=repeat, old=old, new=new)


def judged(id: str, is_alike: bool | None, repeat: int = 0) -> JudgedPair:
    """A pair with a verdict; None for one that failed."""
    both = pair(id, answer("a"), answer("a") if is_alike is not None else failed("throttle"), repeat)
    state = FAILED if is_alike is None else ALIKE if is_alike else DIFFERS
    return JudgedPair(pair=both, state=state, kinds=("new: throttle",) if is_alike is None else ())
