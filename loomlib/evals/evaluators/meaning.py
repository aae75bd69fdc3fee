"""How close the answer's meaning lies to the expected one, by vectors made offline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loomlib.embeddings import MODEL_NAME, similarity

from ..values.evaluator import Score
from .turn_by_turn import AnswerJudgement


@dataclass(frozen=True, kw_only=True)
class Embedding(AnswerJudgement):
    """The cosine of the two texts' vectors, 0 where it is negative. `threshold` None: no bar.

    Words count, their order does not: it cannot tell "A paid B" from "B paid A", nor a yes from a no.
    """

    is_quick: ClassVar[bool] = False

    threshold: float | None = None
    model: str = MODEL_NAME

    def compare(self, expected: str, answer: str) -> Score:
        """Between 0 and 1."""
        value = max(0.0, similarity(expected, answer))
        rationale = "" if self.passes(value) is not False else f"similarity {value:.2f}, where 1 is the same"
        return self.score(value, rationale, labels=(self.model,))
