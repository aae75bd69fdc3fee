"""Estimate how much of a model call's time was spent on processing the prompt (prefill).

No span measures that. Where an agent's calls had prompts of clearly different lengths, the slope of time over tokens
gives the cost of a token; otherwise the time to the first token, divided by the tokens, is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from ..traces import ModelCall

MIN_TOKEN_DIFFERENCE = 500
MIN_RELATIVE_DIFFERENCE = 0.2
"""Prompts whose lengths differ less than this (in tokens, and as a share) say nothing about a token's cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill:
    """The time per prompt token in one model call.

    Attributes:
        prompt_tokens: The length of the prompt, cached tokens included.
        ms_per_token: Milliseconds per token.
        max_ms: The most that reading can have taken.
        basis: `slope` (measured between this agent's calls), `first token` (an upper bound from the time to the first
            token) or `whole call` (an upper bound where the time to the first token is unknown).
    """

    prompt_tokens: int
    ms_per_token: float
    max_ms: float
    basis: str

    def ms(self, tokens: float) -> float:
        """Return the milliseconds for `tokens` of this prompt, at most `max_ms`."""
        return min(self.max_ms, max(0.0, tokens) * self.ms_per_token)


def prompt_tokens(call: ModelCall) -> int | None:
    """Return all tokens that the model read: new ones and those from and to the cache; None when unknown."""
    if call.input_tokens is None:
        return None
    return call.input_tokens + (call.cache_read_tokens or 0) + (call.cache_write_tokens or 0)


MAX_MS_PER_TOKEN = 2.0
"""A steeper slope is not reading: 17,000 tokens were read in about 3 s (field note "I Ran 100 Parallel Tool Calls")."""


def measure_prompt_reading(calls: Sequence[ModelCall]) -> Iterator[tuple[ModelCall, Prefill]]:
    """Yield each call of one agent that has a token count, with its prompt reading."""
    slope = token_slope(calls)
    for call in calls:
        tokens = prompt_tokens(call)
        if not tokens:
            continue
        has_ttft = call.ttft_ms is not None and call.ttft_ms <= call.duration_ms * 1.05
        bound = min(call.duration_ms, call.ttft_ms) if has_ttft and call.ttft_ms is not None else call.duration_ms
        if slope is not None and 0 < slope <= MAX_MS_PER_TOKEN:
            yield call, Prefill(prompt_tokens=tokens, ms_per_token=slope, max_ms=call.duration_ms, basis="slope")
        else:
            yield (
                call,
                Prefill(
                    prompt_tokens=tokens,
                    ms_per_token=bound / tokens,
                    max_ms=bound,
                    basis="first token" if has_ttft else "whole call",
                ),
            )


def token_slope(calls: Sequence[ModelCall]) -> float | None:
    """Return the milliseconds per additional prompt token: the median slope over pairs of calls (Theil 1950, Sen 1968).

    The time for output is subtracted first, at the fastest rate that a time to the first token shows. None when no two
    calls have prompts that differ enough.
    """
    rate = _fastest_writing(calls)
    points = [
        (tokens, max(0.0, call.duration_ms - rate * (call.output_tokens or 0)))
        for call in calls
        if (tokens := prompt_tokens(call)) is not None
    ]
    if len(points) > 60:  # pairs grow with the square; an even sample keeps the median
        points = points[:: len(points) // 60 + 1]
    slopes = [
        (later - earlier) / (more - less)
        for (less, earlier), (more, later) in combinations(sorted(points), 2)
        if more - less >= max(MIN_TOKEN_DIFFERENCE, MIN_RELATIVE_DIFFERENCE * more)
    ]
    return median(slopes) if slopes else None


def _fastest_writing(calls: Sequence[ModelCall]) -> float:
    """Return the fewest milliseconds per output token; 0 without a time to first token."""
    rates = [
        (call.duration_ms - call.ttft_ms) / call.output_tokens
        for call in calls
        if call.ttft_ms is not None and call.output_tokens and call.ttft_ms < call.duration_ms
    ]
    return min(rates, default=0.0)
