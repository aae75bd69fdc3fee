"""Translation between Converse and /chat/completions: messages, tools, results and stop reasons."""

from __future__ import annotations

import base64
import binascii
import json

from .json_values import JsonObject, as_integer, as_list, as_object, as_text, field_of
from .refusals import invalid
from .reply import Reply
from .request import ModelToolCall

STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filtered",
}
_TEXT_FORMATS = ("txt", "md", "csv", "html")
_IMAGE_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}


def to_chat(model: str, body: JsonObject, *, stream: bool) -> JsonObject:
    """Translate a Converse body into the body of a chat completion.

    Args:
        model: The name of the model.
        body: The Converse body.
        stream: Whether the answer is streamed.

    Raises:
        ModelRefusedError: A message contains what a chat completion cannot carry: a video, a document that is not text,
            or an image without its bytes.
    """
    messages: list[JsonObject] = []
    system = "\n".join(as_text(as_object(block).get("text")) for block in as_list(body.get("system"))).strip()
    if system:
        messages.append({"role": "system", "content": system})
    for message in as_list(body.get("messages")):
        messages += _messages(as_object(message))
    chat: JsonObject = {"model": model, "messages": messages}
    limits = as_object(body.get("inferenceConfig"))
    names = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
    chat.update({chat_name: limits[name] for name, chat_name in names.items() if limits.get(name) is not None})
    tool_config = as_object(body.get("toolConfig"))
    tools = [
        _tool(as_object(as_object(tool).get("toolSpec")))
        for tool in as_list(tool_config.get("tools"))
        if "toolSpec" in as_object(tool)
    ]
    if tools:
        chat["tools"] = tools
        chat["tool_choice"] = _tool_choice(as_object(tool_config.get("toolChoice")))
    output = as_object(field_of(body, "outputConfig", "textFormat", "structure", "jsonSchema"))
    if as_text(output.get("schema")):
        shape = {"name": as_text(output.get("name")) or "answer", "schema": json.loads(as_text(output["schema"]))}
        chat["response_format"] = {"type": "json_schema", "json_schema": shape}
    if stream:
        chat["stream"] = True
        chat["stream_options"] = {"include_usage": True}
    return chat


def from_chat(answer: JsonObject) -> Reply:
    """Read the reply of a chat completion; raise `ValueError` if the answer is not one."""
    choices = as_list(answer.get("choices"))
    if not choices:
        raise ValueError(reason_of(answer) or "the answer has no choices")
    choice = as_object(choices[0])
    message = as_object(choice.get("message"))
    calls = tuple(_call(as_object(entry)) for entry in as_list(message.get("tool_calls")))
    input_tokens, output_tokens = tokens_of(answer)
    reason = STOP_REASONS.get(as_text(choice.get("finish_reason")), "end_turn")
    return Reply(
        text=as_text(message.get("content")),
        calls=calls,
        # Some servers return "stop" although they call tools.
        stop_reason="tool_use" if calls and reason == "end_turn" else reason,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
    )


def reason_of(answer: JsonObject) -> str:
    """Return the reason that a server gives in the member `error` of an answer or an event; "" without one."""
    error = answer.get("error")
    return as_text(error) or as_text(as_object(error).get("message"))


def tokens_of(answer: JsonObject) -> tuple[int, int]:
    """Return the input and output tokens of a completion or a stream's last event; 0 if not stated."""
    usage = as_object(answer.get("usage"))
    return as_integer(usage.get("prompt_tokens")) or 0, as_integer(usage.get("completion_tokens")) or 0


def _messages(message: JsonObject) -> list[JsonObject]:
    """Convert a Converse message to an assistant message, or to one tool message per result and then a user message."""
    blocks = [as_object(block) for block in as_list(message.get("content"))]
    text = "\n".join(part for block in blocks if (part := _text(block)))
    if message.get("role") == "assistant":
        uses = [as_object(block["toolUse"]) for block in blocks if "toolUse" in block]
        assistant: JsonObject = {"role": "assistant", "content": text or None}
        return [{**assistant, "tool_calls": [_tool_call(use) for use in uses]} if uses else assistant]
    messages: list[JsonObject] = []
    images: list[JsonObject] = []
    for result in (as_object(block["toolResult"]) for block in blocks if "toolResult" in block):
        # A tool message can contain only text, so images follow in a user message.
        result_images = _images([as_object(block) for block in as_list(result.get("content"))])
        content = _result_text(result, "The result is in the next user message." if result_images else "")
        messages.append({"role": "tool", "tool_call_id": as_text(result.get("toolUseId")), "content": content})
        images += result_images
    images += _images(blocks)
    if images:
        messages.append({"role": "user", "content": [*([{"type": "text", "text": text}] if text else []), *images]})
    elif text:
        messages.append({"role": "user", "content": text})
    return messages


def _text(block: JsonObject) -> str:
    """Return the text of a block: its own, or a text document's name and content."""
    if "video" in block:
        raise invalid("A video cannot be passed to a model at an OpenAI-compatible address.")
    if "document" not in block:
        return as_text(block.get("text"))
    document = as_object(block["document"])
    source = as_object(document.get("source"))
    if "text" in source:
        return f"{as_text(document.get('name'))}:\n{as_text(source['text'])}"
    if "content" in source:
        parts = [as_text(as_object(part).get("text")) for part in as_list(source["content"])]
        return "\n".join([f"{as_text(document.get('name'))}:", *parts])
    kind = as_text(document.get("format"))
    if kind not in _TEXT_FORMATS or "bytes" not in source:
        raise invalid(
            f"A document ({kind or 'without a format'}) cannot be passed to a model at an OpenAI-compatible address: "
            f"pass its text, or the bytes of one of {', '.join(_TEXT_FORMATS)}."
        )
    try:
        content = base64.b64decode(as_text(source["bytes"]), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise invalid(f"The bytes of a document are not base64: {error}") from error
    return f"{as_text(document.get('name'))}:\n{content}"


def _images(blocks: list[JsonObject]) -> list[JsonObject]:
    return [_image(as_object(block["image"])) for block in blocks if "image" in block]


def _image(image: JsonObject) -> JsonObject:
    kind = _IMAGE_TYPES.get(as_text(image.get("format")), "image/png")
    content = as_text(field_of(image, "source", "bytes"))
    if not content:
        raise invalid(
            "An image without bytes (such as one in S3) cannot be passed to a model at an OpenAI-compatible address: "
            "pass its bytes."
        )
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{content}"}}


def _result_text(result: JsonObject, without_text: str) -> str:
    parts = [
        json.dumps(block["json"], ensure_ascii=False) if "json" in block else _text(block)
        for block in map(as_object, as_list(result.get("content")))
    ]
    text = "\n".join(part for part in parts if part) or without_text
    return f"Error: {text}" if result.get("status") == "error" and not text.startswith("Error") else text


def _tool_call(use: JsonObject) -> JsonObject:
    arguments = json.dumps(use.get("input") or {}, ensure_ascii=False)
    return {
        "id": as_text(use.get("toolUseId")),
        "type": "function",
        "function": {"name": as_text(use.get("name")), "arguments": arguments},
    }


def _tool(spec: JsonObject) -> JsonObject:
    schema = as_object(as_object(spec.get("inputSchema")).get("json")) or {"type": "object", "properties": {}}
    function = {
        "name": as_text(spec.get("name")),
        "description": as_text(spec.get("description")),
        "parameters": schema,
    }
    return {"type": "function", "function": function}


def _tool_choice(choice: JsonObject) -> object:
    if "tool" in choice:
        return {"type": "function", "function": {"name": as_text(as_object(choice["tool"]).get("name"))}}
    return "required" if "any" in choice else "none" if "none" in choice else "auto"


def _call(entry: JsonObject) -> ModelToolCall:
    function = as_object(entry.get("function"))
    try:
        arguments = as_object(json.loads(as_text(function.get("arguments")) or "{}"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments of {as_text(function.get('name'))} are not JSON: {error}") from error
    return ModelToolCall(id=as_text(entry.get("id")), name=as_text(function.get("name")), arguments=arguments)
