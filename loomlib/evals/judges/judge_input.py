"""The material that a judge receives: output, prompt, golden answer, rubric, trajectory and reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..values.answers import CaseAnswer, TurnAnswer, prompts_of
from ..values.cases import EvalCase, Turn
from .material import one_entry
from .question import Question, ReplyForm
from .scales import Scale

VERDICT_TOOL = "give_verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInput:
    """The material for one verdict; parts that are None are not shown.

    Attributes:
        output: The text to judge.
        prompt: What the output answers.
        golden: A correct answer.
        rubric: The rule to judge by.
        trajectory: The steps that the agent took.
        reference: The steps that were expected.
    """

    output: str
    prompt: str | None = None
    golden: str | None = None
    rubric: str | None = None
    trajectory: str | None = None
    reference: str | None = None

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The parts that are present, by name; the output comes last, after the rule."""
        all_parts = (
            ("rubric", self.rubric),
            ("prompt", self.prompt),
            ("golden answer", self.golden),
            ("reference", self.reference),
            ("trajectory", self.trajectory),
            ("output", self.output),
        )
        return tuple((name, text) for name, text in all_parts if text is not None)

    def with_rubric(self, rubric: str | None) -> JudgeInput:
        """Return a copy with another rubric."""
        return replace(self, rubric=rubric)

    def question(self, instructions: str, scale: Scale) -> Question:
        """Return the question about this material, answered on `scale` with a rationale first."""
        return Question(
            instructions=f"{instructions}\n\nThe verdicts are:\n{scale.explained()}",
            parts=self.parts,
            form=ReplyForm(
                name=VERDICT_TOOL,
                description="Gives the verdict: first why, in one to three sentences, then the verdict itself.",
                properties={
                    "rationale": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(scale.labels)},
                },
            ),
        )


def of_turn(case: EvalCase, answer: CaseAnswer, index: int) -> JudgeInput:
    """Return the input for one turn: its prompt after the conversation so far.

    Args:
        case: The case.
        answer: Its answer.
        index: The turn's index, from 0.
    """
    turn: Turn | None = case.turns[index] if index < len(case.turns) else None
    prompts = prompts_of(case, answer)
    return JudgeInput(
        output=answer.turns[index].text,
        prompt=conversation(case, answer.turns[:index], prompts[index] if index < len(prompts) else "", prompts),
        golden=turn.expected_answer if turn else None,
    )


def of_case(case: EvalCase, answer: CaseAnswer) -> JudgeInput:
    """Return the input for the last answer, after the conversation before it."""
    if not answer.turns:
        return JudgeInput(output="", prompt=case.prompt, golden=case.expected_answer)
    last = len(answer.turns) - 1
    return replace(of_turn(case, answer, last), golden=case.expected_answer)


def conversation(
    case: EvalCase, before: Sequence[TurnAnswer], prompt: str, prompts: Sequence[str] | None = None
) -> str:
    """Return the conversation so far followed by the prompt; the prompt alone in the first turn.

    Args:
        case: The case.
        before: The answers of the turns so far.
        prompt: The current prompt, "" to leave it out.
        prompts: The prompts of all turns, by default the case's.
    """
    if not before:
        return prompt or case.prompt
    prompts = prompts or [turn.prompt for turn in case.turns] or [case.prompt]
    lines: list[str] = []
    for at, turn_answer in enumerate(before):
        if at < len(prompts):
            lines.append(one_entry(f"User: {prompts[at]}"))
        lines.append(one_entry(f"Agent: {turn_answer.text}"))
    return "\n".join([*lines, one_entry(f"User: {prompt}")] if prompt else lines)
