"""Scoring one question: which of the records brought hold the answer, which a former value, what was given in all.

A record is relevant when it says the value that holds now, in whole words. recall@k asks whether one of the first k is;
precision is the share of the records brought that are. Stale is what gives a former value, also beside the present one:
who reads both has to guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .life import Probe, holds

CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English text, as the local models count."""
TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`relevant` and `stale` are ranks (from 1) in the `returned` records; `in_context` and `stale_in_context` tell of
    the rest of what was given, or of the answer when an agent was asked.
    """

    returned: int = 0
    relevant: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    in_context: bool = False
    stale_in_context: bool = False

    def recall_at(self, k: int) -> bool:
        """Whether one of the first `k` records holds the answer."""
        return any(rank <= k for rank in self.relevant)

    @property
    def precision(self) -> float | None:
        """The share of the records brought that hold the answer; None when none was brought."""
        return len(self.relevant) / self.returned if self.returned else None

    @property
    def is_recalled(self) -> bool:
        """Whether the value that holds now is anywhere in what was given (or said)."""
        return bool(self.relevant) or self.in_context

    @property
    def is_stale(self) -> bool:
        """Whether a former value is."""
        return bool(self.stale) or self.stale_in_context


def score(probe: Probe, records: Sequence[str], rest: Sequence[str]) -> Score:
    """How `records` (best first) and the `rest` of what was given, or said, answer the probe."""
    return Score(
        returned=len(records),
        relevant=tuple(rank for rank, text in enumerate(records, start=1) if holds(text, probe.expected)),
        stale=tuple(rank for rank, text in enumerate(records, start=1) if _says_former(probe, text)),
        in_context=any(holds(text, probe.expected) for text in rest),
        stale_in_context=any(_says_former(probe, text) for text in rest),
    )


def tokens_of(texts: Sequence[str]) -> int:
    """Messages' tokens, estimated."""
    return sum(-(-len(text) // CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE for text in texts)


def _says_former(probe: Probe, text: str) -> bool:
    return any(holds(text, value) for value in probe.former)
