"""Detection of a negation in only one of two answers, which similarity by embeddings does not detect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from loomlib.evals.evaluators.turn_by_turn import PASSED, AnswerEvaluator
from loomlib.evals.values.evaluator import Score

_DENIES: Final = re.compile(
    r"\b(?:not|never|cannot|unable|unfortunately|sorry|failed|refused|declined|denied)\b|n['’]t\b"
    r"|\b(?:nicht|nie|leider|kein(?:e[mnrs]?)?)\b|\b(?:pas|jamais|impossible|désolée?)\b|\b(?:nunca|lamento|tampoco)\b",
    re.IGNORECASE,
)
"""English, German, French and Spanish words that deny, refuse or apologize."""


@dataclass(frozen=True, kw_only=True)
class SameNegation(AnswerEvaluator):
    """1 if both answers, or neither of them, contain a word that denies, refuses or apologizes; else 0."""

    name: str = "negation"

    def compare(self, expected: str, answer: str) -> Score:
        """Return 1 or 0, with the word that only one of them contains."""
        old, new = _DENIES.search(expected), _DENIES.search(answer)
        if (old is None) == (new is None):
            return PASSED
        word = (old or new or [""])[0]
        side = "old" if old is not None else "new"
        return self.score(0.0, f'only the {side} answer says "{word}"')
