"""A judge: an evaluator that asks a model, and says with which model, at what price and how surely."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..values.digests import digest_of
from ..values.evaluator import LEVELS, NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .judge_input import JudgeInput
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel, JudgeReply
from .question import PROMPT_VERSION, RATIONALE_LIMIT
from .scales import BINARY, FIVE, Scale

if TYPE_CHECKING:
    from loomlib.aws import Clients

    from ..values.answers import CaseAnswer
    from ..values.cases import EvalCase


@dataclass(frozen=True, kw_only=True)
class ModelJudge:
    """What judges have in common. A judge names the material it needs in `inputs`; the rest is here.

    `model` is a judging model, or the id of one: then the judge has to be connected (`connected_to`) before it can
    judge, which `loom.evaluate` does with the agent's connection. `threshold` is the value that passes; the scale's
    own bar when it is None.
    """

    name: str
    instructions: str
    scale: Scale = FIVE
    threshold: float | None = None
    model: JudgeModel | str = DEFAULT_MODEL
    level: str = "answer"
    needs_tools: bool = False
    sample: int = field(default=0, repr=False)

    is_quick = False

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"a judge's level is one of {', '.join(LEVELS)}, not {self.level!r}")

    @property
    def digest(self) -> str:
        """Everything that a verdict depends on, apart from the case, the answer and chance."""
        return digest_of(
            type(self).__name__, PROMPT_VERSION, self.name, self.instructions, self.scale, self.threshold,
            model_key(self.model), self.level, self.sample, self.options,
        )  # fmt: skip

    @property
    def options(self) -> Sequence[object]:
        """What else a kind of judge depends on."""
        return ()

    def connected_to(self, clients: Clients) -> ModelJudge:
        """This judge with its model behind `clients`; itself when it has a model already."""
        if not isinstance(self.model, str):
            return self
        return replace(self, model=ConverseJudge(clients=clients, model_id=self.model))

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """The parts to judge, each with its name ("" for the whole case)."""
        raise TypeError(f"{type(self).__name__} does not say what it judges")

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """A score of each part. Raises `JudgeFailedError` when one of them cannot be judged."""
        wanted = self.inputs(case, answer)
        if isinstance(wanted, NotApplicable):
            return wanted
        model = connected(self.model)
        questions = [(part, given.question(self.instructions, self.scale)) for part, given in wanted]
        replies = await asyncio.gather(*(model.ask(each, sample=self.sample) for _, each in questions))
        return [
            self._score(part, question.digest, reply)
            for (part, question), reply in zip(questions, replies, strict=True)
        ]

    def _score(self, part: str, digest: str, reply: JudgeReply) -> Score:
        verdict = str(reply.values["verdict"])
        value = self.scale.values[verdict]
        bar = self.scale.bar if self.threshold is None else self.threshold
        details: dict[str, Any] = {"verdict": verdict, "scale": self.scale.name, "question": digest}
        if reply.attempts > 1:
            details["attempts"] = reply.attempts
        return Score(
            value=value,
            passed=value >= bar,
            rationale=str(reply.values["rationale"])[:RATIONALE_LIMIT],
            part=part,
            details=details,
            labels=reply.labels,
            tokens=reply.tokens,
            cost=reply.cost,
        )


def connected(model: JudgeModel | str) -> JudgeModel:
    """`model`, if it can be asked; raises `JudgeFailedError` ("no_model") for a mere id."""
    if isinstance(model, str):
        raise JudgeFailedError(
            f"The judge has a model's name ({model}) and no connection to it",
            kind="no_model",
            try_="judge.connected_to(bench.clients), or model=ConverseJudge(clients=…)",
        )
    return model


def model_key(model: JudgeModel | str) -> str:
    """What names a model in a digest."""
    return model if isinstance(model, str) else model.key


__all__ = ["BINARY", "FIVE", "ModelJudge", "connected", "model_key"]
