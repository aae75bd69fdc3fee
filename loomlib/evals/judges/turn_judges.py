"""Judges of every turn: by rubrics for each, or by one question, with the turn's steps where they matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase, Rubric
from ..values.evaluator import NotApplicable
from ..values.judge_error import JudgeFailedError
from .judge import ModelJudge
from .judge_input import JudgeInput, of_turn
from .scales import BINARY, Scale
from .trajectory_text import trajectory_text


@dataclass(frozen=True, kw_only=True)
class TurnJudge(ModelJudge):
    """Judges each turn by its `instructions`; with `shows_steps` the turn's tool calls are part of the material.

    Where nobody knows them it is judged without, unless it `needs_tools`: then it is a failure to judge.
    """

    scale: Scale = BINARY
    shows_steps: bool = False

    @property
    def options(self) -> Sequence[object]:
        return (self.shows_steps,)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        turns = range(len(answer.turns))
        if not turns:
            return NotApplicable("there is no answer to judge")
        return [
            ("" if len(turns) == 1 else f"turn {at + 1}", replace(self.material(case, answer, at), golden=None))
            for at in turns
        ]

    def material(self, case: EvalCase, answer: CaseAnswer, at: int) -> JudgeInput:
        """What there is to judge of one turn."""
        given = of_turn(case, answer, at)
        if not self.shows_steps or (answer.turns[at].tools is None and not self.needs_tools):
            return given
        if answer.turns[at].tools is None:
            raise JudgeFailedError(
                "The trajectory is not known", kind="no_trajectory", on=case.id, try_="export traces"
            )
        alone = replace(case, turns=case.turns[at : at + 1]) if at < len(case.turns) else case
        prompts: Any = answer.metadata.get("prompts") or ()  # of a simulated user
        metadata = {**answer.metadata, "prompts": prompts[at : at + 1]} if prompts else answer.metadata
        one = replace(answer, turns=answer.turns[at : at + 1], metadata=metadata)
        return replace(given, trajectory=trajectory_text(alone, one))


@dataclass(frozen=True, kw_only=True)
class TurnRubricJudge(TurnJudge):
    """Judges each turn by each of `rubrics`, and by those of the case and the turn that are of `kind`.

    With `whole` the conversation is judged once, by all of them, with all of its steps.
    """

    rubrics: tuple[Rubric, ...] = ()
    kind: str = ""
    whole: bool = False

    @property
    def options(self) -> Sequence[object]:
        return (self.shows_steps, self.rubrics, self.kind, self.whole)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        last = len(answer.turns) - 1
        found: list[tuple[str, JudgeInput]] = []
        for at in range(last, last + 1) if self.whole else range(last + 1):
            own = [turn.rubrics for turn in (case.turns if self.whole else case.turns[at : at + 1])]
            rubrics = (*self.rubrics, *(r for some in (case.rubrics, *own) for r in some if r.kind == self.kind))
            given = of_turn(case, answer, at) if self.whole else self.material(case, answer, at)
            if self.whole:
                if answer.tools is None:
                    raise JudgeFailedError("The trajectory is not known", kind="no_trajectory", on=case.id)
                given = replace(given, trajectory=trajectory_text(case, answer))
            before = f"turn {at + 1}: " if last and not self.whole else ""
            found += [
                (f"{before}{rubric.id or f'rubric {number}'}", replace(given, golden=None, rubric=rubric.text))
                for number, rubric in enumerate(rubrics, 1)
            ]
        if not found:
            return NotApplicable(f"there is no rubric{f' of the type {self.kind}' if self.kind else ''}")
        return [("", found[0][1])] if len(found) == 1 else found
