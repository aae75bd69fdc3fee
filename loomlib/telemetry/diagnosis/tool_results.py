"""The size of tool results, in prompt tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..traces import ModelCall, ToolCall
from .case import InvocationCase
from .prompt_reading import prompt_tokens

CHARACTERS_PER_TOKEN = 4.0
"""A rule of thumb for English; only used where the token counts around a result do not show its size."""
_MIN_CHARACTERS_PER_TOKEN = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultSize:
    """A tool result in a prompt.

    Attributes:
        tool: The tool's name.
        characters: Its length in characters.
        tokens: The tokens it added to the prompt.
        span_id: The tool's span.
        first_read: The index of the first model call that read it.
    """

    tool: str
    characters: int
    tokens: float
    span_id: str
    first_read: int


def large_results(
    case: InvocationCase, group: Sequence[ModelCall], *, least_tokens: float, least_share: float
) -> list[ToolResultSize]:
    """Return large results, from turns that caused much of the prompt's total growth.

    Where every turn adds its part, no single result is to blame: that is growth.

    Args:
        case: The invocation.
        group: The model calls of one agent.
        least_tokens: The fewest tokens of a large result.
        least_share: The least share of the prompt's growth that its turn added.
    """
    results = _results(case, group)
    counts = [count for call in group if (count := prompt_tokens(call)) is not None]
    gained = max(counts) - counts[0] if counts else 0
    by_turn: dict[int, float] = {}
    for result in results:
        by_turn[result.first_read] = by_turn.get(result.first_read, 0.0) + result.tokens
    return [
        result
        for result in results
        if result.tokens >= least_tokens and by_turn[result.first_read] >= least_share * gained
    ]


def tokens_read(group: Sequence[ModelCall], results: Sequence[ToolResultSize]) -> list[float]:
    """Return the tokens of these results in each model call's prompt: every later call reads them again.

    Args:
        group: The model calls of one agent.
        results: Its tool results.
    """
    fresh = [0.0] * len(group)
    for result in results:
        fresh[result.first_read] += result.tokens
    return list(accumulate(fresh))


def _results(case: InvocationCase, group: Sequence[ModelCall]) -> list[ToolResultSize]:
    """Return the results between the calls of one agent.

    A result's tokens are its share, by length, of the tokens that the prompt gained; where these are unknown, its
    length by rule of thumb.
    """
    sizes = case.result_lengths
    starts = [call.start_ns for call in group]
    agent = case.agent_above(group[0].span_id) if group else ""
    turns: dict[int, list[tuple[ToolCall, int]]] = {}
    for tool in case.tools:
        turn = bisect_right(starts, tool.start_ns)
        if 0 < turn < len(group) and case.agent_above(tool.span_id) == agent:
            size = sizes.get(tool.call_id or f"span {tool.span_id}", 0)
            turns.setdefault(turn, []).append((tool, size))
    results: list[ToolResultSize] = []
    for turn, ran in sorted(turns.items()):
        total = sum(size for _, size in ran)
        gained = _gained(group[turn - 1], group[turn])
        for tool, size in ran:
            tokens = size / CHARACTERS_PER_TOKEN
            if gained is not None and total:
                tokens = min(gained * size / total, size / _MIN_CHARACTERS_PER_TOKEN)
            results.append(
                ToolResultSize(tool=tool.name, characters=size, tokens=tokens, span_id=tool.span_id, first_read=turn)
            )
    return results


def _gained(before: ModelCall, after: ModelCall) -> float | None:
    was, is_ = prompt_tokens(before), prompt_tokens(after)
    if was is None or is_ is None:
        return None
    return max(0.0, is_ - was - (before.output_tokens or 0))
