"""Token counts, estimated: one token per four characters, which is the usual rule of thumb for English text.

No tokenizer is shipped, so the numbers are good for watching growth and comparing runs of the same model, not for a
bill. Each message adds four tokens for its frame, each content that is neither text nor JSON (an image…) a flat
amount.
"""

from __future__ import annotations

import json
import re

from loomlib.local.models.json_values import JsonObject, as_list, as_object
from loomlib.local.models.refusals import invalid

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_ATTACHMENT = 1_000

_PIECE = re.compile(r"\s*\S+\s*|\s+")


def estimate_tokens(text: str) -> int:
    """How many tokens `text` counts for; 0 for no text, at least 1 otherwise."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def estimate_input_tokens(body: JsonObject) -> int:
    """What a Converse body counts for: system prompt, messages and tool declarations."""
    total = sum(_content_tokens(block) for block in as_list(body.get("system")))
    for message in as_list(body.get("messages")):
        total += TOKENS_PER_MESSAGE + sum(
            _content_tokens(block) for block in as_list(as_object(message).get("content"))
        )
    tools = as_list(as_object(body.get("toolConfig")).get("tools"))
    return max(1, total + sum(estimate_tokens(_json(tool)) for tool in tools))


def count_request(body: JsonObject) -> JsonObject:
    """CountTokens' answer for its body: a Converse request is counted as a call would count it. Others are refused."""
    request = as_object(as_object(body.get("input")).get("converse"))
    if not request:
        raise invalid("The local AgentCore counts the tokens of input.converse only.")
    return {"inputTokens": estimate_input_tokens(request)}


def split_tokens(text: str) -> list[str]:
    """`text` in the pieces in which it is streamed: a word with the space after it. Joined they are `text`."""
    return _PIECE.findall(text)


def _content_tokens(block: object) -> int:
    content = as_object(block)
    if "text" in content:
        return estimate_tokens(str(content["text"]))
    if "toolUse" in content or "toolResult" in content:
        return estimate_tokens(_json(content))
    return 0 if "cachePoint" in content or not content else TOKENS_PER_ATTACHMENT


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
