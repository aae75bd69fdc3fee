"""The four parts that a judge is given: the output, the prompt, the golden answer, the rubric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..values.answers import CaseAnswer, TurnAnswer
from ..values.cases import EvalCase, Turn
from .material import one_entry
from .question import AnswerForm, Question
from .scales import Scale

VERDICT_TOOL = "give_verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInput:
    """What is judged (`output`), what it answers (`prompt`), what a good answer says (`golden`), and by what rule.

    `trajectory` and `reference` are the steps taken and the steps expected, where the way there is judged too. Parts
    that are None are not shown; everything shown is data to the judge.
    """

    output: str
    prompt: str | None = None
    golden: str | None = None
    rubric: str | None = None
    trajectory: str | None = None
    reference: str | None = None

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The parts that there are, by name. The output is the last: a judge has read the rule before it."""
        known = (
            ("rubric", self.rubric),
            ("prompt", self.prompt),
            ("golden answer", self.golden),
            ("reference", self.reference),
            ("trajectory", self.trajectory),
            ("output", self.output),
        )
        return tuple((name, text) for name, text in known if text is not None)

    def with_rubric(self, rubric: str | None) -> JudgeInput:
        return replace(self, rubric=rubric)

    def question(self, instructions: str, scale: Scale) -> Question:
        """The question about this material, to be answered on `scale` with a rationale first."""
        return Question(
            instructions=f"{instructions}\n\nThe verdicts are:\n{scale.explained()}",
            parts=self.parts,
            form=AnswerForm(
                name=VERDICT_TOOL,
                description="Gives the verdict: first why, in one to three sentences, then the verdict itself.",
                properties={
                    "rationale": {"type": "string"},
                    "verdict": {"type": "string", "enum": list(scale.labels)},
                },
            ),
        )


def of_turn(case: EvalCase, answer: CaseAnswer, index: int) -> JudgeInput:
    """The input for one turn: its prompt after what was said before."""
    turn: Turn | None = case.turns[index] if index < len(case.turns) else None
    asked = prompts_of(case, answer)
    return JudgeInput(
        output=answer.turns[index].text,
        prompt=conversation(case, answer.turns[:index], asked[index] if index < len(asked) else "", asked),
        golden=turn.expected_answer if turn else None,
    )


def of_case(case: EvalCase, answer: CaseAnswer) -> JudgeInput:
    """The input for the last answer, after the whole conversation before it."""
    if not answer.turns:
        return JudgeInput(output="", prompt=case.prompt, golden=case.expected_answer)
    last = len(answer.turns) - 1
    return replace(of_turn(case, answer, last), golden=case.expected_answer)


def prompts_of(case: EvalCase, answer: CaseAnswer) -> list[str]:
    """What the agent was told turn by turn; by a simulated user, too."""
    said: Sequence[object] = answer.metadata.get("prompts") or ()
    return [turn.prompt for turn in case.turns] or [str(each) for each in said] or [case.prompt]


def conversation(case: EvalCase, before: Sequence[TurnAnswer], prompt: str, asked: Sequence[str] | None = None) -> str:
    """What was said so far, and then the prompt; the prompt alone in the first turn."""
    if not before:
        return prompt or case.prompt
    asked = asked or [turn.prompt for turn in case.turns] or [case.prompt]
    lines: list[str] = []
    for at, each in enumerate(before):
        if at < len(asked):
            lines.append(one_entry(f"User: {asked[at]}"))
        lines.append(one_entry(f"Agent: {each.text}"))
    return "\n".join([*lines, one_entry(f"User: {prompt}")] if prompt else lines)
