"""Pairs of answers to the same prompt: the old agent's and its successor's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from loomlib.evals.runs import EvalRun
from loomlib.evals.values.answers import CaseAnswer
from loomlib.evals.values.cases import EvalCase, Turn
from loomlib.evals.values.tool_use import ExpectedTool, ToolUse

from .names import ToolNames

PAIR: Final = "pair"
"""The member of a judged case's initial state that identifies its pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """The answers of both agents to one case.

    Attributes:
        case: The case that was asked.
        repeat: The repeat, from 0.
        old: The old agent's answer.
        new: The successor's.
    """

    case: EvalCase
    repeat: int
    old: CaseAnswer
    new: CaseAnswer

    @property
    def id(self) -> str:
        """The case's id, and its repeat."""
        return f"{self.case.id} #{self.repeat + 1}"

    @property
    def failures(self) -> tuple[str | None, str | None]:
        """The classes of failures of the old agent and of its successor; None without one."""
        old, new = self.old.failure, self.new.failure
        return (None if old is None else old.kind), (None if new is None else new.kind)

    @property
    def is_answered(self) -> bool:
        """Whether both agents answered."""
        return self.old.failure is None and self.new.failure is None

    def expecting(self, names: ToolNames) -> EvalCase:
        """Return the case with the old agent's behaviour as the expectation.

        Args:
            names: The names of the old agent's tools.
        """
        turns = tuple(
            expecting_turn(turn.prompt, answer.text, answer.tools, names)
            for turn, answer in zip(asked_turns(self.case, self.old), self.old.turns, strict=False)
        )
        return EvalCase(id=self.id, turns=turns, tags=self.case.tags, initial_state={PAIR: self.id})


def expecting_turn(prompt: str, answer: str, tools: Iterable[ToolUse] | None, names: ToolNames) -> Turn:
    """Return a turn that expects an agent's behaviour.

    Args:
        prompt: The prompt.
        answer: The agent's answer.
        tools: Its tool calls; None if unknown.
        names: The names of its tools; free-text arguments are not expected.
    """
    return Turn(
        prompt=prompt,
        expected_answer=answer,
        expected_tools=None if tools is None else tuple(_expected(use, names) for use in tools),
    )


def pairs_of_runs(old: EvalRun, new: EvalRun, names: ToolNames) -> Iterator[AnswerPair]:
    """Yield the pairs of two runs of the same cases.

    Args:
        old: The old agent's run.
        new: The successor's.
        names: The names of tools.
    """
    answers = {(item.case_id, item.repeat): as_compared(item.answer, names) for item in new.judgements()}
    cases = {case.id: case for case in old.evalset.cases}
    for item in old.judgements():
        if (answer := answers.get((item.case_id, item.repeat))) is not None:
            yield AnswerPair(case=cases[item.case_id], repeat=item.repeat, old=item.answer, new=answer)


def as_compared(answer: CaseAnswer, names: ToolNames) -> CaseAnswer:
    """Return a successor's answer with its tool calls in comparable form (`ToolNames.of_successor`).

    Args:
        answer: The answer.
        names: The names of tools.
    """
    turns = tuple(
        turn if turn.tools is None else replace(turn, tools=names.of_successor(turn.tools)) for turn in answer.turns
    )
    return replace(answer, turns=turns)


def pairs_with_itself(pairs: Iterable[AnswerPair]) -> Iterator[AnswerPair]:
    """Yield the old agent's answers of one repeat with those of the next one, as pairs.

    Args:
        pairs: The pairs of both agents.
    """
    answers = {(pair.case.id, pair.repeat): pair for pair in pairs}
    for (id, repeat), pair in answers.items():
        if (following := answers.get((id, repeat + 1))) is not None:
            yield replace(pair, new=following.old)


def asked_turns(case: EvalCase, answer: CaseAnswer) -> list[Turn]:
    """Return a case's turns, or those of a simulated user.

    Args:
        case: The case.
        answer: The answer, whose metadata has the prompts of a simulated user.
    """
    if case.turns:
        return list(case.turns)
    return [Turn(prompt=str(prompt)) for prompt in answer.metadata.get("prompts", ())]


def _expected(use: ToolUse, names: ToolNames) -> ExpectedTool:
    arguments = None if names.takes_free_text(use.name) else use.arguments
    return ExpectedTool(name=use.name, arguments=arguments)
