"""Semantic similarity between the answer and the expected one, by embeddings computed offline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loomlib.embeddings import MODEL_NAME, similarity
from loomlib.presentation.formats import score

from ..values.evaluator import Score
from .turn_by_turn import AnswerEvaluator


@dataclass(frozen=True, kw_only=True)
class Embedding(AnswerEvaluator):
    """Cosine similarity of the two texts' embeddings; negative values count as 0.

    The model ignores word order: it cannot tell "A paid B" from "B paid A", nor a yes from a no.

    Attributes:
        threshold: Minimum value that passes; None (the default) for a score without a threshold.
        model: Name of the embedding model, shown as a label.
    """

    is_quick: ClassVar[bool] = False

    threshold: float | None = None
    model: str = MODEL_NAME

    def compare(self, expected: str, answer: str) -> Score:
        """Return the similarity, between 0 and 1."""
        value = max(0.0, similarity(expected, answer))
        rationale = "" if self.passes(value) is not False else f"similarity {score(value)} (1 = identical)"
        return self.score(value, rationale, labels=(self.model,))
