"""The format of Anthropic's Messages API, which Claude models use in InvokeModel.

Source: Amazon Bedrock user guide, "Anthropic Claude Messages API".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..json_values import JsonObject, as_integer, as_list, as_object, as_text, as_texts
from ..refusals import invalid
from ..tokens import estimate_input_tokens

_LIMITS = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop_sequences": "stopSequences"}
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class AnthropicFormat:
    """One request: its Converse form, and the response in its own format."""

    def __init__(self, model_id: str, body: JsonObject) -> None:
        self._model_id, self._body = model_id, body
        self._input_tokens = 0
        self._index, self._open = -1, False
        self._stop_reason: object = None

    def request(self) -> JsonObject:
        """Return the request in Converse's form."""
        body = self._body
        if not as_text(body.get("anthropic_version")):
            raise invalid("anthropic_version: Field required")
        if "max_tokens" not in body:
            raise invalid("max_tokens: Field required")
        if as_integer(body["max_tokens"]) is None:
            raise invalid("max_tokens: Input should be a valid integer")
        if "messages" not in body:
            raise invalid("messages: Field required")
        converse: JsonObject = {
            "messages": [_message(as_object(message)) for message in as_list(body["messages"])],
            "inferenceConfig": {name: body[own] for own, name in _LIMITS.items() if own in body},
        }
        if system := _texts(body.get("system")):
            converse["system"] = [{"text": text} for text in system]
        if "tools" in body:
            tools = [_tool(as_object(tool)) for tool in as_list(body["tools"])]
            converse["toolConfig"] = {"tools": tools, **_choice(as_object(body.get("tool_choice")))}
        self._input_tokens = estimate_input_tokens(converse)
        return converse

    def answer(self, converse: JsonObject, message_id: str) -> JsonObject:
        """Return a Converse response as a message."""
        message = as_object(as_object(converse.get("output")).get("message"))
        content: list[object] = []
        for entry in as_list(message.get("content")):
            block = as_object(entry)
            if "text" in block:
                content.append({"type": "text", "text": block["text"]})
            elif "toolUse" in block:
                use = as_object(block["toolUse"])
                content.append(
                    {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name"), "input": use.get("input")}
                )
        usage = as_object(converse.get("usage"))
        return {
            **self._head(message_id),
            "content": content,
            **self._stop(converse.get("stopReason")),
            "usage": {"input_tokens": usage.get("inputTokens"), "output_tokens": usage.get("outputTokens")},
        }

    def events(self, kind: str, payload: JsonObject, message_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the events that correspond to an event of ConverseStream."""
        if kind == "messageStart":
            start: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
            usage = {"input_tokens": self._input_tokens, "output_tokens": 0}
            yield {"type": "message_start", "message": {**self._head(message_id), **start, "usage": usage}}
        elif kind == "contentBlockStart":
            use = as_object(as_object(payload.get("start")).get("toolUse"))
            head: JsonObject = {"type": "tool_use", "id": use.get("toolUseId"), "name": use.get("name")}
            block: JsonObject = {**head, "input": {}}
            yield self._start(block)
        elif kind == "contentBlockDelta":
            delta = as_object(payload.get("delta"))
            if "text" in delta:
                if not self._open:
                    yield self._start({"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": delta["text"]})
            elif "toolUse" in delta:
                piece = as_object(delta["toolUse"]).get("input")
                yield self._delta({"type": "input_json_delta", "partial_json": piece})
        elif kind == "contentBlockStop":
            self._open = False
            yield {"type": "content_block_stop", "index": max(self._index, 0)}
        elif kind == "messageStop":
            self._stop_reason = payload.get("stopReason")
        elif kind == "metadata":
            usage, metrics = as_object(payload.get("usage")), as_object(payload.get("metrics"))
            tokens = {"input_tokens": usage.get("inputTokens"), "output_tokens": usage.get("outputTokens")}
            yield {"type": "message_delta", "delta": self._stop(self._stop_reason), "usage": tokens}
            yield {
                "type": "message_stop",
                "amazon-bedrock-invocationMetrics": {
                    "inputTokenCount": usage.get("inputTokens"),
                    "outputTokenCount": usage.get("outputTokens"),
                    "invocationLatency": metrics.get("latencyMs"),
                },
            }

    def _head(self, message_id: str) -> JsonObject:
        return {"id": message_id, "type": "message", "role": "assistant", "model": self._model_id}

    def _stop(self, reason: object) -> JsonObject:
        """Return a stop reason and, if the request has only one stop sequence, the sequence that ended the text."""
        sequences = as_texts(self._body.get("stop_sequences"))
        ended_by = sequences[0] if reason == "stop_sequence" and len(sequences) == 1 else None
        return {"stop_reason": reason, "stop_sequence": ended_by}

    def _start(self, block: Mapping[str, object]) -> Mapping[str, object]:
        self._index, self._open = self._index + 1, True
        return {"type": "content_block_start", "index": self._index, "content_block": block}

    def _delta(self, delta: Mapping[str, object]) -> Mapping[str, object]:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}


def _message(message: JsonObject) -> JsonObject:
    return {"role": message.get("role"), "content": _blocks(message.get("content"))}


def _blocks(content: object) -> list[JsonObject]:
    """Return the blocks of a message's content, which is a string or a list."""
    if isinstance(content, str):
        return [{"text": content}]
    return [_block(as_object(block)) for block in as_list(content)]


def _block(block: JsonObject) -> JsonObject:
    kind = as_text(block.get("type"))
    if kind == "text":
        return {"text": block.get("text")}
    if kind == "tool_use":
        return {"toolUse": {"toolUseId": block.get("id"), "name": block.get("name"), "input": block.get("input")}}
    if kind == "tool_result":
        status = {"status": "error"} if block.get("is_error") else {}
        content = _blocks(block.get("content") or [])
        return {"toolResult": {"toolUseId": block.get("tool_use_id"), "content": content, **status}}
    if kind in ("thinking", "redacted_thinking"):
        return {"reasoningContent": {}}
    if kind == "image":
        return {"image": _image(as_object(block.get("source")))}
    if kind == "document":
        name = as_text(block.get("title")) or "document"
        return {"document": {"name": name, **_document(as_object(block.get("source")))}}
    raise invalid(f"messages: unknown type of content block: {kind!r}")


def _image(source: JsonObject) -> JsonObject:
    kind, content = as_text(source.get("media_type")), as_text(source.get("data"))
    if source.get("type") != "base64" or kind not in _IMAGE_TYPES or not content:
        raise invalid(f"messages: the source of an image must be base64 data of {', '.join(_IMAGE_TYPES)}")
    return {"format": kind.removeprefix("image/"), "source": {"bytes": content}}


def _document(source: JsonObject) -> JsonObject:
    kind, content = as_text(source.get("type")), as_text(source.get("data"))
    if kind == "base64" and content and source.get("media_type") == "application/pdf":
        return {"format": "pdf", "source": {"bytes": content}}
    if kind == "text" and content:
        return {"format": "txt", "source": {"text": content}}
    blocks = _blocks(source.get("content") or [])
    if kind == "content" and blocks and all("text" in block for block in blocks):
        return {"format": "txt", "source": {"content": blocks}}
    raise invalid("messages: the source of a document must be a PDF in base64, a text, or a list of text blocks")


def _texts(content: object) -> list[str]:
    """Return the texts of a content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return [content] if content else []
    return [as_text(block["text"]) for block in map(as_object, as_list(content)) if "text" in block]


def _choice(choice: JsonObject) -> JsonObject:
    kind = as_text(choice.get("type"))
    if kind == "tool":
        return {"toolChoice": {"tool": {"name": as_text(choice.get("name"))}}}
    return {"toolChoice": {kind: {}}} if kind in ("any", "none") else {}


def _tool(tool: JsonObject) -> JsonObject:
    schema = {"json": as_object(tool.get("input_schema"))}
    return {"toolSpec": {"name": tool.get("name"), "description": tool.get("description") or "", "inputSchema": schema}}
