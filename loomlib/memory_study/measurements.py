"""One question of a memory study, and the score of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loomlib.experiments import MeasuredUnit, unit_fields
from loomlib.store import MeasurementRow

from .arms import Arm
from .design import PlannedQuestion
from .script import IDLE, Probe, contains

CHARACTERS_PER_TOKEN = 4
"""Characters per token: the usual rule of thumb for English text, which the local models use too."""
TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallScore:
    """How retrieved records, and the context or the agent's answer, score for a question.

    A record is relevant when it contains the current value, in whole words. A text with a former value is stale, even
    if it also contains the current value: a reader cannot tell which one is current.

    Attributes:
        returned: Number of records returned.
        relevant: Ranks of relevant records, from 1.
        stale: Ranks of records with a former value.
        in_context: Whether the context (or the agent's answer) contains the current value.
        stale_in_context: Whether it contains a former value.
    """

    returned: int = 0
    relevant: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    in_context: bool = False
    stale_in_context: bool = False

    def recall_at(self, k: int) -> bool:
        """Return whether one of the first `k` records is relevant."""
        return any(rank <= k for rank in self.relevant)

    @property
    def precision(self) -> float | None:
        """Share of the returned records that are relevant; None when none was returned."""
        return len(self.relevant) / self.returned if self.returned else None

    @property
    def is_recalled(self) -> bool:
        """Whether the records, the context or the answer contain the current value."""
        return bool(self.relevant) or self.in_context

    @property
    def is_stale(self) -> bool:
        """Whether they contain a former value."""
        return bool(self.stale) or self.stale_in_context


def score_answer(probe: Probe, records: Sequence[str], rest: Sequence[str]) -> RecallScore:
    """Score a model's context, or an agent's answer.

    Args:
        probe: The question.
        records: Retrieved records, best first.
        rest: The other texts of the context, or the answer.
    """

    def is_stale(text: str) -> bool:
        return any(contains(text, value) for value in probe.former)

    return RecallScore(
        returned=len(records),
        relevant=tuple(rank for rank, text in enumerate(records, start=1) if contains(text, probe.expected)),
        stale=tuple(rank for rank, text in enumerate(records, start=1) if is_stale(text)),
        in_context=any(contains(text, probe.expected) for text in rest),
        stale_in_context=any(map(is_stale, rest)),
    )


def tokens_of(texts: Sequence[str]) -> int:
    """Estimate the tokens of messages."""
    return sum(-(-len(text) // CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion(MeasuredUnit):
    """One question and its answer.

    Attributes:
        arm: The arm.
        probe: The question with its expected answer.
        score: How the answer scores; None unless the question is done.
        extracted: Whether any record of the actor contained the answer when the question was asked; None if unknown.
        searches: Searches of long-term memory.
        model_calls: Calls of the model.
        input_tokens: Their input tokens.
        output_tokens: Their output tokens.
        shown: The first records, or the agent's answer; untrusted text.
    """

    arm: Arm
    probe: Probe
    score: RecallScore | None = None
    extracted: bool | None = None
    searches: int = 0
    model_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    shown: tuple[str, ...] = ()

    @property
    def needs_memory(self) -> bool:
        """Whether the question asks for a fact stated before."""
        return self.probe.kind != IDLE

    @property
    def is_recalled(self) -> bool:
        """Whether the answer contains the current value."""
        return self.score is not None and self.score.is_recalled

    @property
    def is_stale(self) -> bool:
        """Whether the answer contains a former value."""
        return self.score is not None and self.score.is_stale

    @property
    def case(self) -> str:
        """Identity of the fact and conversation; repeated questions about it are the same case."""
        return f"{self.probe.conversation}/{self.probe.fact or self.probe.index}"

    @property
    def verdict(self) -> str:
        """The result in words: recalled, recalled beside a former value, stale, missed, correctly absent and so on."""
        if self.score is None:
            return self.failure or "failed" if self.is_failed else self.state
        if not self.needs_memory:
            return "no memory needed"
        if not self.probe.expected:
            return "stale" if self.is_stale else "correctly absent"
        if self.is_recalled:
            return "recalled beside a former value" if self.is_stale else "recalled"
        return "stale" if self.is_stale else "missed"

    @property
    def is_wrong(self) -> bool:
        """Whether the answer lacks the current value or contains a former one."""
        return self.verdict in ("missed", "stale", "recalled beside a former value")

    @classmethod
    def read(cls, row: MeasurementRow, planned: PlannedQuestion) -> AskedQuestion:
        """Return the question of a stored row.

        Args:
            row: The row.
            planned: The question at its position in the plan.
        """
        details = dict(row.details)
        stored: dict[str, Any] | None = details.get("score")
        if stored is not None:
            stored = stored | {"relevant": tuple(stored["relevant"]), "stale": tuple(stored["stale"])}
        return cls(
            **unit_fields(row),
            arm=planned.arm,
            probe=planned.probe,
            score=None if stored is None else RecallScore(**stored),
            extracted=details.get("extracted"),
            searches=int(details.get("searches", 0)),
            model_calls=details.get("model_calls"),
            input_tokens=details.get("input_tokens"),
            output_tokens=details.get("output_tokens"),
            shown=tuple(str(text) for text in details.get("shown", ())),
        )
