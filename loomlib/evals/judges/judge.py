"""A judge: an evaluator that calls a model and records the model, the cost and the rationale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loomlib.aws import Clients

from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.digests import digest_of
from ..values.evaluator import LEVELS, NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from .judge_input import JudgeInput
from .model import DEFAULT_MODEL, ConverseJudge, JudgeModel, JudgeReply, all_replies
from .question import PROMPT_VERSION, RATIONALE_LIMIT
from .scales import BINARY, FIVE, Scale


@dataclass(frozen=True, kw_only=True)
class ModelJudge:
    """Base of the judges: calls the model and scores. A subclass returns the material to judge from `inputs`.

    Attributes:
        name: Name of the score column.
        instructions: The instructions to the model; part of the digest.
        scale: The verdicts that the model may give.
        threshold: Minimum value that passes; the scale's own threshold when None.
        model: A judge model, or a model id. With an id the judge must be connected (`connected_to`) before it can
            judge; `loom.evaluate` does this with the agent's connection.
        level: What is judged, one of `LEVELS`.
        needs_tools: Whether judging needs the trajectory.
        sample: Number of the repetition, to distinguish repeated questions.
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
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {self.level!r}")

    @property
    def digest(self) -> str:
        """Hash of everything that a verdict depends on, apart from the case, the answer and randomness."""
        return digest_of(
            type(self).__name__, PROMPT_VERSION, self.name, self.instructions, self.scale, self.threshold,
            model_key(self.model), self.level, self.sample, self.options,
        )  # fmt: skip

    @property
    def options(self) -> Sequence[object]:
        """Further options that a verdict of this kind of judge depends on."""
        return ()

    def connected_to(self, clients: Clients) -> ModelJudge:
        """Return this judge with a connection to its model; itself when it has a model already."""
        if not isinstance(self.model, str):
            return self
        return replace(self, model=ConverseJudge(clients=clients, model_id=self.model))

    def inputs(self, case: EvalCase, answer: CaseAnswer) -> Sequence[tuple[str, JudgeInput]] | NotApplicable:
        """Return the parts to judge with their names ("" for the whole case), or why there are none."""
        raise TypeError(f"{type(self).__name__} must implement inputs()")

    async def judge(self, case: EvalCase, answer: CaseAnswer, /) -> list[Score] | NotApplicable:
        """Return a score for each part.

        Raises:
            JudgeFailedError: A part cannot be judged.
        """
        inputs = self.inputs(case, answer)
        if isinstance(inputs, NotApplicable):
            return inputs
        model = connected(self.model)
        questions = [(part, material.question(self.instructions, self.scale)) for part, material in inputs]
        replies = await all_replies(*(model.ask(question, sample=self.sample) for _, question in questions))
        return [
            self._score(part, question.digest, reply)
            for (part, question), reply in zip(questions, replies, strict=True)
        ]

    def _score(self, part: str, digest: str, reply: JudgeReply) -> Score:
        verdict = str(reply.values["verdict"])
        value = self.scale.values[verdict]
        least = self.scale.bar if self.threshold is None else self.threshold
        details: dict[str, Any] = {"verdict": verdict, "scale": self.scale.name, "question": digest}
        if reply.attempts > 1:
            details["attempts"] = reply.attempts
        return Score(
            value=value,
            passed=value >= least,
            rationale=str(reply.values["rationale"])[:RATIONALE_LIMIT],
            part=part,
            details=details,
            labels=reply.labels,
            tokens=reply.tokens,
            cost=reply.cost,
        )


def connected(model: JudgeModel | str) -> JudgeModel:
    """Return `model` if it can be called; raise `JudgeFailedError` ("no_model") for a model id without a connection."""
    if isinstance(model, str):
        raise JudgeFailedError(
            f"The judge is not connected to its model ({model})",
            kind="no_model",
            try_="judge.connected_to(bench.clients), or model=ConverseJudge(clients=…)",
        )
    return model


def model_key(model: JudgeModel | str) -> str:
    """Return what identifies a model in a digest."""
    return model if isinstance(model, str) else model.key


__all__ = ["BINARY", "FIVE", "ModelJudge", "connected", "model_key"]
