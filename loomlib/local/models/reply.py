"""A model's reply, truncated to the limits of its request, and its two wire forms: a JSON body or stream frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from .json_values import JsonObject
from .request import ConverseRequest, ModelToolCall
from .tokens import estimate_tokens, split_tokens

if TYPE_CHECKING:
    from moto.core.eventstream import EventStreamEncoder

_INPUT_PIECE = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A complete reply. `text` comes before `calls`; `additional` is further model-specific JSON.

    The tokens that a prompt cache read and wrote are None if the request has no cache points; `input_tokens` excludes
    them, as on Bedrock. `is_prose` marks a text without a required form, which another model may rephrase.
    """

    text: str = ""
    calls: tuple[ModelToolCall, ...] = ()
    stop_reason: str = "end_turn"
    input_tokens: int = 0
    output_tokens: int = 0
    additional: Mapping[str, object] | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    is_prose: bool = False


def within_limits(reply: Reply, request: ConverseRequest) -> Reply:
    """Truncate a reply by `maxTokens` and `stopSequences`, and count its output tokens.

    Args:
        reply: The reply.
        request: The request that sets the limits.
    """
    text, stop = reply.text, "tool_use" if reply.calls else "end_turn"
    cuts = [at for at in (text.find(sequence) for sequence in request.stop_sequences) if at >= 0]
    calls = reply.calls
    if cuts:
        text, stop, calls = text[: min(cuts)], "stop_sequence", ()
    budget = request.max_tokens
    if budget is not None and estimate_tokens(text) > budget:
        text, stop, calls = _first_tokens(text, budget), "max_tokens", ()
    spent = estimate_tokens(text)
    whole: list[ModelToolCall] = []
    for call in calls:
        cost = call_tokens(call)
        # An incomplete tool call is useless: a call that does not fit is left out.
        if budget is not None and spent + cost > budget:
            stop = "max_tokens"
            break
        whole.append(call)
        spent += cost
    return replace(
        reply, text=text, calls=tuple(whole), stop_reason=stop, output_tokens=spent, input_tokens=request.input_tokens
    )


def call_tokens(call: ModelToolCall) -> int:
    """Estimate the tokens of a tool call."""
    return (
        8 + estimate_tokens(call.name) + estimate_tokens(json.dumps(call.arguments, ensure_ascii=False, default=repr))
    )


def _first_tokens(text: str, budget: int) -> str:
    held_back = ""
    for piece in split_tokens(text):
        if estimate_tokens(held_back + piece) > budget:
            break
        held_back += piece
    return held_back or text[: 4 * budget]


@cache
def _encoder() -> EventStreamEncoder:
    # moto takes 0.2 s to import; a process that does not encode events does not import it.
    from moto.core.eventstream import EventStreamEncoder

    return EventStreamEncoder()


def encode_event(kind: str, payload: Mapping[str, object]) -> bytes:
    """Encode one event of a ConverseStream response."""
    headers = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    return _encoder().encode_message(headers, json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace"))


def encode_exception(kind: str, message: str) -> bytes:
    """Encode the frame that ends a stream in an error; `kind` is its name, such as modelStreamErrorException."""
    headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
    return _encoder().encode_message(headers, json.dumps({"message": message}).encode())


def body_of(reply: Reply, latency_ms: float) -> JsonObject:
    """Build the body of a Converse response.

    Args:
        reply: The reply.
        latency_ms: How long it took.
    """
    content: list[object] = [{"text": reply.text}] if reply.text or not reply.calls else []
    content += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.arguments)}} for call in reply.calls
    ]
    body: JsonObject = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reply.stop_reason,
        **_closing(reply, latency_ms),
    }
    return body if reply.additional is None else {**body, "additionalModelResponseFields": dict(reply.additional)}


def stream_of(reply: Reply) -> Iterator[tuple[int, bytes]]:
    """Yield the frames up to and including messageStop, each with the number of output tokens sent so far."""
    sent_tokens = 0
    index = 0
    yield sent_tokens, encode_event("messageStart", {"role": "assistant"})
    if reply.text or not reply.calls:
        for piece in split_tokens(reply.text) or [""]:
            sent_tokens += estimate_tokens(piece)
            yield sent_tokens, encode_event("contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": piece}})
        yield sent_tokens, encode_event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    for call in reply.calls:
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        yield sent_tokens, encode_event("contentBlockStart", {"contentBlockIndex": index, "start": start})
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        for at in range(0, len(arguments), _INPUT_PIECE):
            piece = arguments[at : at + _INPUT_PIECE]
            sent_tokens += estimate_tokens(piece)
            delta = {"toolUse": {"input": piece}}
            yield sent_tokens, encode_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield sent_tokens, encode_event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    stop: JsonObject = {"stopReason": reply.stop_reason}
    if reply.additional is not None:
        stop["additionalModelResponseFields"] = dict(reply.additional)
    yield reply.output_tokens, encode_event("messageStop", stop)


def metadata_frame(reply: Reply, latency_ms: float) -> bytes:
    """Build the last frame: usage and metrics.

    Args:
        reply: The reply.
        latency_ms: How long it took.
    """
    return encode_event("metadata", _closing(reply, latency_ms))


def _closing(reply: Reply, latency_ms: float) -> JsonObject:
    read_tokens, write_tokens = reply.cache_read_tokens, reply.cache_write_tokens
    usage = {
        "inputTokens": reply.input_tokens,
        "outputTokens": reply.output_tokens,
        "totalTokens": reply.input_tokens + reply.output_tokens + (read_tokens or 0) + (write_tokens or 0),
    }
    if read_tokens is not None and write_tokens is not None:
        usage |= {"cacheReadInputTokens": read_tokens, "cacheWriteInputTokens": write_tokens}
    return {"usage": usage, "metrics": {"latencyMs": max(0, round(latency_ms))}}
