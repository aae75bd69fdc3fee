"""Judges of every turn, by one question or by rubrics, optionally with the turn's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase, Rubric
from ..values.evaluator import NotApplicable
from ..values.judge_error import JudgeFailedError
from .judge import ModelJudge
from .judge_input import JudgeInput, of_turn
from .scales import BINARY, Scale
from .trajectory_text import TRAJECTORY_VERSION, trajectory_text


@dataclass(frozen=True, kw_only=True)
class TurnJudge(ModelJudge):
    """Judges each turn by its `instructions`; with `shows_steps` the material includes the turn's tool calls.

    A turn whose tool calls are unknown is judged without them, unless the judge `needs_tools`; then the result is a
    failure to judge.
    """

    scale: Scale = BINARY
    shows_steps: bool = False

    @property
    def options(self) -> Sequence[object]:
        """The options that are part of the digest."""
        return (self.shows_steps, *((TRAJECTORY_VERSION,) if self.shows_steps else ()))

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return one input for each turn."""
        turns = range(len(answer.turns))
        if not turns:
            return NotApplicable("there is no answer to judge")
        return [
            ("" if len(turns) == 1 else f"turn {at + 1}", replace(self.material(case, answer, at), golden=None))
            for at in turns
        ]

    def material(self, case: EvalCase, answer: CaseAnswer, at: int) -> JudgeInput:
        """Return the material for one turn.

        Args:
            case: The case.
            answer: The answer.
            at: Index of the turn.
        """
        material = of_turn(case, answer, at)
        if not self.shows_steps or (answer.turns[at].tools is None and not self.needs_tools):
            return material
        if answer.turns[at].tools is None:
            raise JudgeFailedError(
                "The trajectory is unknown", kind="no_trajectory", on=case.id, try_="export the agent's traces"
            )
        return replace(material, trajectory=trajectory_text(case, answer, at=at))


@dataclass(frozen=True, kw_only=True)
class TurnRubricJudge(TurnJudge):
    """Judges each turn by each of `rubrics`, and by the rubrics of the case and the turn that are of `kind`.

    With `whole` the conversation is judged once by all of them, with all of its steps.
    """

    rubrics: tuple[Rubric, ...] = ()
    kind: str = ""
    whole: bool = False

    @property
    def options(self) -> Sequence[object]:
        """The options that are part of the digest."""
        return (self.shows_steps, self.rubrics, self.kind, self.whole, TRAJECTORY_VERSION)

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return one input for each rubric and turn, or for each rubric with `whole`."""
        if not answer.turns:
            return NotApplicable("there is no answer to judge")
        last = len(answer.turns) - 1
        inputs: list[tuple[str, JudgeInput]] = []
        for index in range(last, last + 1) if self.whole else range(last + 1):
            own = [turn.rubrics for turn in (case.turns if self.whole else case.turns[index : index + 1])]
            rubrics = (
                *self.rubrics,
                *(rubric for rubrics_of in (case.rubrics, *own) for rubric in rubrics_of if rubric.kind == self.kind),
            )
            material = of_turn(case, answer, index) if self.whole else self.material(case, answer, index)
            if self.whole:
                if answer.tools is None:
                    raise JudgeFailedError("The trajectory is unknown", kind="no_trajectory", on=case.id)
                material = replace(material, trajectory=trajectory_text(case, answer))
            prefix = f"turn {index + 1}: " if last and not self.whole else ""
            inputs += [
                (f"{prefix}{rubric.id or f'rubric {number}'}", replace(material, golden=None, rubric=rubric.text))
                for number, rubric in enumerate(rubrics, 1)
            ]
        if not inputs:
            return NotApplicable(f"the case has no rubric{f' of the type {self.kind}' if self.kind else ''}")
        return [("", inputs[0][1])] if len(inputs) == 1 else inputs
