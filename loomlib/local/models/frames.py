"""A reply in Converse's two wire forms: one JSON body, or event-stream frames, each with when it is due."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from moto.core.eventstream import EventStreamEncoder

from loomlib.local.models.json_values import JsonObject
from loomlib.local.models.reply import Reply
from loomlib.local.models.tokens import estimate_tokens, split_tokens

_ENCODER = EventStreamEncoder()
_INPUT_PIECE = 12


def encode_event(kind: str, payload: Mapping[str, object]) -> bytes:
    """One event of a ConverseStream response."""
    headers = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    return _ENCODER.encode_message(headers, json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace"))


def encode_exception(kind: str, message: str) -> bytes:
    """The frame that ends a stream in an error; `kind` is the event's name, such as modelStreamErrorException."""
    headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
    return _ENCODER.encode_message(headers, json.dumps({"message": message}).encode())


def body_of(reply: Reply, latency_ms: float) -> JsonObject:
    """The body of a Converse response."""
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
    """The frames up to and with messageStop; each with how many output tokens have been spoken when it is due."""
    spoken = 0
    index = 0
    yield spoken, encode_event("messageStart", {"role": "assistant"})
    if reply.text or not reply.calls:
        for piece in split_tokens(reply.text) or [""]:
            spoken += estimate_tokens(piece)
            yield spoken, encode_event("contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": piece}})
        yield spoken, encode_event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    for call in reply.calls:
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        yield spoken, encode_event("contentBlockStart", {"contentBlockIndex": index, "start": start})
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        for at in range(0, len(arguments), _INPUT_PIECE):
            piece = arguments[at : at + _INPUT_PIECE]
            spoken += estimate_tokens(piece)
            delta = {"toolUse": {"input": piece}}
            yield spoken, encode_event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield spoken, encode_event("contentBlockStop", {"contentBlockIndex": index})
        index += 1
    stop: JsonObject = {"stopReason": reply.stop_reason}
    if reply.additional is not None:
        stop["additionalModelResponseFields"] = dict(reply.additional)
    yield reply.output_tokens, encode_event("messageStop", stop)


def metadata_frame(reply: Reply, latency_ms: float) -> bytes:
    """The last frame: usage and metrics."""
    return encode_event("metadata", _closing(reply, latency_ms))


def _closing(reply: Reply, latency_ms: float) -> JsonObject:
    usage = {
        "inputTokens": reply.input_tokens,
        "outputTokens": reply.output_tokens,
        "totalTokens": reply.input_tokens + reply.output_tokens,
    }
    return {"usage": usage, "metrics": {"latencyMs": max(0, round(latency_ms))}}
