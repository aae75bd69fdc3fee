"""The prompt of a Converse request: its tokens in the model's chat template, and the positions of its cache points.

The order is Bedrock's, tools, system prompt, messages, so that a cache point behind the tools covers them alone. A
user's text cannot contain the special tokens of the chat template: text is never tokenized to them.

Source: the chat template of SmolLM2-135M-Instruct (ChatML).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ..json_values import JsonObject, as_list, as_object, as_text
from ..refusals import ModelRefusedError, invalid
from .server import TinyServer
from .settings import TinySettings

_MOST_CACHE_POINTS: Final = 4
_MOST_CHARACTERS_PER_TOKEN: Final = 16
_START: Final = "<|im_start|>"
_END: Final = "<|im_end|>"
_HOUR_S: Final = 3_600.0
_FIVE_MINUTES_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePoint:
    """A position up to which a prompt is cached.

    Attributes:
        tokens: The number of tokens before it.
        lives_s: Lifetime of the cached prefix in seconds after its last use.
    """

    tokens: int
    lives_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The tokens of a request.

    Attributes:
        tokens: The tokens.
        cache_points: Its cache points in order, without those after too few tokens; None if the request has none.
    """

    tokens: list[int]
    cache_points: tuple[CachePoint, ...] | None


@dataclass(frozen=True, slots=True)
class _Mark:
    text: str


@dataclass(frozen=True, slots=True)
class _Point:
    lives_s: float


async def read_prompt(server: TinyServer, request: JsonObject, settings: TinySettings) -> Prompt:
    """Read the prompt of a Converse body.

    Raises:
        ModelRefusedError: It is longer than the context, or has too many cache points (ValidationException).
    """
    pieces = _joined(_pieces(request))
    points = [piece for piece in pieces if isinstance(piece, _Point)]
    if len(points) > _MOST_CACHE_POINTS:
        raise invalid(f"A request can have at most {_MOST_CACHE_POINTS} cachePoint blocks, not {len(points)}.")
    characters = sum(len(piece) for piece in pieces if isinstance(piece, str))
    if len(pieces) > settings.context_tokens or characters > settings.context_tokens * _MOST_CHARACTERS_PER_TOKEN:
        raise _too_long(settings)  # before tokenization, which takes time
    tokens: list[int] = []
    candidates: list[CachePoint] = []
    for piece in pieces:
        if isinstance(piece, _Point):
            candidates.append(CachePoint(tokens=len(tokens), lives_s=piece.lives_s))
        elif isinstance(piece, _Mark):
            tokens += await server.tokens(piece.text, marks=True)
        else:
            tokens += await server.tokens(piece)
        if len(tokens) >= settings.context_tokens:
            raise _too_long(settings)
    cache_points = tuple(point for point in candidates if point.tokens >= settings.least_cached_tokens)
    return Prompt(tokens=tokens, cache_points=cache_points if points else None)


def _too_long(settings: TinySettings) -> ModelRefusedError:
    return invalid(
        f"Input is too long for requested model. The small model of the local AgentCore accepts fewer than "
        f"{settings.context_tokens} tokens."
    )


def _joined(pieces: Iterator[str | _Mark | _Point]) -> list[str | _Mark | _Point]:
    """Join adjacent texts, so that each run is one request to the tokenizer."""
    joined: list[str | _Mark | _Point] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, str) and isinstance(last, str):
            joined[-1] = last + piece
        elif piece != "":
            joined.append(piece)
    return joined


def _pieces(request: JsonObject) -> Iterator[str | _Mark | _Point]:
    tools = as_list(as_object(request.get("toolConfig")).get("tools"))
    system = as_list(request.get("system"))
    if tools or system:
        yield from _message("system", [*_tools(tools), *_content(system)])
    for entry in as_list(request.get("messages")):
        message = as_object(entry)
        yield from _message(as_text(message.get("role")), _content(as_list(message.get("content"))))
    yield _Mark(_START)
    yield "assistant\n"


def _message(role: str, content: Iterable[str | _Point]) -> Iterator[str | _Mark | _Point]:
    """Yield a message in the chat format. A cache point at its end comes after the end-of-message mark."""
    yield _Mark(_START)
    yield f"{role}\n"
    points: list[_Point] = []
    for piece in content:
        if isinstance(piece, _Point):
            points.append(piece)
        else:
            yield from points
            points.clear()
            yield piece
    yield _Mark(_END)
    yield "\n"
    yield from points


def _tools(tools: list[object]) -> Iterator[str | _Point]:
    for entry in tools:
        tool = as_object(entry)
        if "cachePoint" in tool:
            yield _point(tool)
        elif "toolSpec" in tool:
            yield json.dumps(tool["toolSpec"], ensure_ascii=False, default=repr) + "\n"


def _content(blocks: list[object]) -> Iterator[str | _Point]:
    for entry in blocks:
        block = as_object(entry)
        if "text" in block:
            yield as_text(block["text"])
        elif "cachePoint" in block:
            yield _point(block)
        elif "toolUse" in block:
            use = as_object(block["toolUse"])
            yield written_call(as_text(use.get("name")), as_object(use.get("input")))
        elif "toolResult" in block:
            for result in map(as_object, as_list(as_object(block["toolResult"]).get("content"))):
                text = json.dumps(result["json"], default=repr) if "json" in result else as_text(result.get("text"))
                yield f"<tool_response>\n{text}\n</tool_response>\n"
        elif block and "reasoningContent" not in block:
            yield f"[{next(iter(block))}]"


def written_call(name: str, arguments: JsonObject) -> str:
    """Return a tool call in the form in which the model sees it in the conversation."""
    return f"<tool_call>{name}\n{json.dumps(arguments, ensure_ascii=False, default=repr)}</tool_call>\n"


def _point(block: JsonObject) -> _Point:
    point = as_object(block["cachePoint"])
    if as_text(point.get("type")) != "default":
        raise invalid('cachePoint.type must be "default".')
    ttl = as_text(point.get("ttl")) or "5m"
    if ttl not in ("5m", "1h"):
        raise invalid(f'cachePoint.ttl must be "5m" or "1h", not {ttl!r}.')
    return _Point(_HOUR_S if ttl == "1h" else _FIVE_MINUTES_S)
