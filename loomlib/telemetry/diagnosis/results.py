"""What tools gave back, as tokens of the prompts that had to be read after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..traces import ModelCall
from ..traces.values import text_of
from .case import Case
from .reading import prompt_tokens

CHARACTERS_A_TOKEN = 4.0
"""A rule of thumb for English; only used where the token counts around a result do not tell."""
_FEWEST_CHARACTERS_A_TOKEN = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A tool's result in a prompt: its length, and the tokens that it made there."""

    tool: str
    characters: int
    tokens: float
    span_id: str


def result_tokens(case: Case, group: Sequence[ModelCall], least: float) -> dict[str, float]:
    """By model call: the tokens in its prompt of tool results with at least `least` tokens."""
    return {
        call.span_id: sum(each.tokens for each in results if each.tokens >= least)
        for call, results in results_read(case, group)
    }


def results_read(case: Case, group: Sequence[ModelCall]) -> list[tuple[ModelCall, list[Result]]]:
    """The calls of one agent with all tool results that came before them.

    A result's tokens are its share of the tokens that the prompt gained; where these are not counted, its characters
    by rule of thumb.
    """
    texts: dict[str, int] = {}
    for step in case.steps:
        if step.kind == "tool_result" and step.result is not None:
            texts[step.call_id] = max(texts.get(step.call_id, 0), len(text_of(step.result)))
    agent = case.agent_above(group[0].span_id) if group else ""
    tools = [tool for tool in case.tools if case.agent_above(tool.span_id) == agent]
    known: list[Result] = []
    found: list[tuple[ModelCall, list[Result]]] = []
    for before, call in zip([None, *group], group, strict=False):
        if before is not None:
            fresh = [
                (tool, texts.get(tool.call_id or f"span {tool.span_id}", 0))
                for tool in tools
                if before.start_ns <= tool.start_ns < call.start_ns
            ]
            total = sum(size for _, size in fresh)
            gained = _gained(before, call)
            for tool, size in fresh:
                tokens = size / CHARACTERS_A_TOKEN
                if gained is not None and total:
                    tokens = min(gained * size / total, size / _FEWEST_CHARACTERS_A_TOKEN)
                known.append(Result(tool=tool.name, characters=size, tokens=tokens, span_id=tool.span_id))
        found.append((call, list(known)))
    return found


def _gained(before: ModelCall, after: ModelCall) -> float | None:
    was, is_ = prompt_tokens(before), prompt_tokens(after)
    if was is None or is_ is None:
        return None
    return max(0.0, is_ - was - (before.output_tokens or 0))
