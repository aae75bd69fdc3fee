"""Estimated token counts: one token for four characters, the usual rule of thumb for English text.

No tokenizer is included: the numbers show growth and allow comparisons of one model's runs, but do not predict costs.
Each message adds four tokens, and each content that is neither text nor JSON (such as an image) adds 1,000.
"""

from __future__ import annotations

import json
import re

from .json_values import JsonObject, as_list, as_object, as_text, field_of
from .refusals import invalid

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_ATTACHMENT = 1_000

_ATTACHMENTS = ("image", "document", "video")
_PIECE = re.compile(r"\s*\S+\s*|\s+")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of `text`; 0 for an empty text, at least 1 otherwise."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def estimate_input_tokens(body: JsonObject) -> int:
    """Estimate the tokens of a Converse body: system prompt, messages and tools."""
    total = sum(_content_tokens(block) for block in as_list(body.get("system")))
    for message in as_list(body.get("messages")):
        total += TOKENS_PER_MESSAGE + sum(
            _content_tokens(block) for block in as_list(as_object(message).get("content"))
        )
    tools = as_list(as_object(body.get("toolConfig")).get("tools"))
    return max(1, total + sum(estimate_tokens(_json(tool)) for tool in tools))


def count_request(body: JsonObject) -> JsonObject:
    """Answer CountTokens: count a Converse request as an invocation would count it; refuse other inputs."""
    request = as_object(as_object(body.get("input")).get("converse"))
    if not request:
        raise invalid("The local AgentCore counts tokens of input.converse only.")
    return {"inputTokens": estimate_input_tokens(request)}


def split_tokens(text: str) -> list[str]:
    """Split `text` into the pieces in which it is streamed, words with the space after them; joined they are `text`."""
    return _PIECE.findall(text)


def _content_tokens(block: object) -> int:
    content = as_object(block)
    if "text" in content:
        return estimate_tokens(str(content["text"]))
    if "guardContent" in content:
        return estimate_tokens(as_text(field_of(content, "guardContent", "text", "text")))
    if "reasoningContent" in content:
        return estimate_tokens(as_text(field_of(content, "reasoningContent", "reasoningText", "text")))
    if "toolUse" in content:
        return estimate_tokens(_json(content))
    if "toolResult" in content:
        result = as_object(content["toolResult"])
        blocks = as_list(result.get("content"))
        plain = [block for block in blocks if as_object(block).keys().isdisjoint(_ATTACHMENTS)]
        tokens = estimate_tokens(_json({"toolResult": {**result, "content": plain}}))
        return tokens + TOKENS_PER_ATTACHMENT * (len(blocks) - len(plain))
    return 0 if "cachePoint" in content or not content else TOKENS_PER_ATTACHMENT


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
