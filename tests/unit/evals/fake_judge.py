"""A judging model of a few lines, which keeps to the same contract as the real one (see test_judges_contract)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loomlib.evals.judges import JudgeReply, Question

Answer = Callable[[Question, dict[str, str], int], Mapping[str, Any] | str]


def by_golden(question: Question, parts: dict[str, str], sample: int) -> Mapping[str, Any]:
    """The best verdict where the golden answer occurs in the output, else the worst."""
    labels = question.form.properties["verdict"]["enum"]
    met = parts.get("golden answer", "\0") in parts["output"]
    return {"rationale": "as the golden answer says" if met else "something else", "verdict": labels[-1 if met else 0]}


class FakeJudge:
    """Answers with `answer`: values, or a text that it has to be read from, as from any model."""

    def __init__(self, answer: Answer = by_golden, *, key: str = "fake") -> None:
        self._answer, self.key = answer, key
        self.asked: list[Question] = []

    async def ask(self, question: Question, /, *, sample: int = 0) -> JudgeReply:
        self.asked.append(question)
        reply = self._answer(question, dict(question.parts), sample)
        values = question.form.parsed(reply) if isinstance(reply, str) else question.form.checked(reply)
        return JudgeReply(values=values, input_tokens=10, output_tokens=2, cost=0.001, labels=("fake judge",))
