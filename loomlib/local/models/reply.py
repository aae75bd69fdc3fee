"""What a model answers, before it has a wire form: text and tool calls, cut to the limits of the request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from loomlib.local.models.request import ConverseRequest, ToolCall
from loomlib.local.models.tokens import estimate_tokens, split_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A finished answer. `text` comes before `calls`; `additional` is model-specific JSON beside the answer."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop_reason: str = "end_turn"
    input_tokens: int = 0
    output_tokens: int = 0
    additional: Mapping[str, object] | None = None


def within_limits(reply: Reply, request: ConverseRequest) -> Reply:
    """`reply` as `maxTokens` and `stopSequences` leave it, with its output tokens counted."""
    text, stop = reply.text, "tool_use" if reply.calls else "end_turn"
    cuts = [at for at in (text.find(sequence) for sequence in request.stop_sequences) if at >= 0]
    calls = reply.calls
    if cuts:
        text, stop, calls = text[: min(cuts)], "stop_sequence", ()
    budget = request.max_tokens
    if budget is not None and estimate_tokens(text) > budget:
        text, stop, calls = _first_tokens(text, budget), "max_tokens", ()
    spent = estimate_tokens(text)
    kept: list[ToolCall] = []
    for call in calls:
        cost = call_tokens(call)
        # Half a tool call is of no use to anybody: what does not fit is left out whole.
        if budget is not None and spent + cost > budget:
            stop = "max_tokens"
            break
        kept.append(call)
        spent += cost
    return replace(
        reply, text=text, calls=tuple(kept), stop_reason=stop, output_tokens=spent, input_tokens=request.input_tokens
    )


def call_tokens(call: ToolCall) -> int:
    """What a tool call counts for."""
    return (
        8 + estimate_tokens(call.name) + estimate_tokens(json.dumps(call.arguments, ensure_ascii=False, default=repr))
    )


def _first_tokens(text: str, budget: int) -> str:
    kept = ""
    for piece in split_tokens(text):
        if estimate_tokens(kept + piece) > budget:
            break
        kept += piece
    return kept or text[: 4 * budget]
