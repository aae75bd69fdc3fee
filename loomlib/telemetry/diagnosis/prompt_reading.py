"""How much of a model call's time went into reading the prompt.

No span measures that. Where an agent's calls had prompts of clearly different lengths, the slope of time over tokens
says what a token cost here; where they had not, the time to the first token is an upper bound, shared out by tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from ..traces import ModelCall

FEWEST_TOKENS_APART = 500
LEAST_APART = 0.2
"""Prompts closer than this (in tokens, and as a share) say nothing about a token's cost: a call's noise is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptReading:
    """What a prompt token cost one call. `prompt_tokens` counts cached ones too.

    `basis` is `slope` (measured between this agent's calls), `first token` (at most: all of the time to the first
    token shared out by tokens) or `whole call` (at most, and the time to the first token is not known).
    """

    prompt_tokens: int
    ms_per_token: float
    most_ms: float
    basis: str

    def ms(self, tokens: float) -> float:
        """The milliseconds that `tokens` of this prompt took, never more than the call allows."""
        return min(self.most_ms, max(0.0, tokens) * self.ms_per_token)


def prompt_tokens(call: ModelCall) -> int | None:
    """Everything that the model read: new tokens and those from and into the cache (Bedrock counts them apart)."""
    if call.input_tokens is None:
        return None
    return call.input_tokens + (call.cache_read_tokens or 0) + (call.cache_write_tokens or 0)


SLOWEST_MS_A_TOKEN = 2.0
"""A steeper slope is no reading: 17,000 tokens were read in about 3 s (field note "I Ran 100 Parallel Tool Calls")."""


def measure_reading(calls: Sequence[ModelCall]) -> Iterator[tuple[ModelCall, PromptReading]]:
    """Each call of one agent that has a token count, with its reading."""
    slope = token_slope(calls)
    for call in calls:
        tokens = prompt_tokens(call)
        if not tokens:
            continue
        known = call.ttft_ms is not None and call.ttft_ms <= call.duration_ms * 1.05
        bound = min(call.duration_ms, call.ttft_ms) if known and call.ttft_ms is not None else call.duration_ms
        if slope is not None and 0 < slope <= SLOWEST_MS_A_TOKEN:
            yield call, PromptReading(prompt_tokens=tokens, ms_per_token=slope, most_ms=call.duration_ms, basis="slope")
        else:
            yield (
                call,
                PromptReading(
                    prompt_tokens=tokens,
                    ms_per_token=bound / tokens,
                    most_ms=bound,
                    basis="first token" if known else "whole call",
                ),
            )


def token_slope(calls: Sequence[ModelCall]) -> float | None:
    """Milliseconds a further prompt token cost: the median slope over pairs of calls (Theil 1950, Sen 1968).

    Time for output is taken off first, at the fastest rate that a time to the first token shows: writing gets slower
    with the prompt too. None when no two calls have prompts that differ enough.
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
        if more - less >= max(FEWEST_TOKENS_APART, LEAST_APART * more)
    ]
    return median(slopes) if slopes else None


def _fastest_writing(calls: Sequence[ModelCall]) -> float:
    """Milliseconds an output token took at best; 0 where no time to the first token shows it."""
    rates = [
        (each.duration_ms - each.ttft_ms) / each.output_tokens
        for each in calls
        if each.ttft_ms is not None and each.output_tokens and each.ttft_ms < each.duration_ms
    ]
    return min(rates, default=0.0)
