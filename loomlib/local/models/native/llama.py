"""The format of Meta's Llama models: a prompt in, a generation out.

Source: Amazon Bedrock user guide, "Meta Llama models"; the special tokens in prompts are those of Meta's model cards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ..json_values import JsonObject, as_list, as_number, as_object, as_text
from ..refusals import invalid
from ..tokens import estimate_input_tokens

_DEFAULT_TOKENS: Final = 512
_MOST_TOKENS: Final = 2_048
_MEMBERS: Final = ("prompt", "max_gen_len", "temperature", "top_p", "images")
_IMAGE_FORMATS: Final = {"iVBORw0KG": "png", "/9j/": "jpeg", "R0lGOD": "gif", "UklGR": "webp"}
"""Image formats by the first characters of the base64 of a file."""
_STOP_REASONS: Final = {"max_tokens": "length"}
_TURN = re.compile(
    r"<\|(?:start_header_id|header_start)\|>(\w*)<\|(?:end_header_id|header_end)\|>"
    r"(.*?)(?=<\|(?:start_header_id|header_start)\|>|\Z)",
    re.DOTALL,
)
_OLDER_TURN = re.compile(r"\[INST\](.*?)(?:\[/INST\]|\Z)(.*?)(?=<s>|\[INST\]|\Z)", re.DOTALL)
_SYSTEM = re.compile(r"<<SYS>>((?:(?!<<SYS>>).)*?)<</SYS>>", re.DOTALL)  # in linear time, even with unclosed headers
_MARKS = re.compile(r"<\|(?:begin_of_text|end_of_text|eot_id|eom_id|eot|eom|python_tag)\|>|</?s>")


class LlamaFormat:
    """One request: its Converse form, and the response in its own format."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body
        self._prompt_tokens: int | None = None
        self._generated = 0
        self._stop_reason: str | None = None

    def request(self) -> JsonObject:
        """Return the request in Converse's form."""
        body = self._body
        if extraneous := [name for name in body if name not in _MEMBERS]:
            raise invalid(f"Malformed input request: #: extraneous key [{extraneous[0]}] is not permitted")
        prompt = as_text(body.get("prompt"))
        if not prompt.strip():
            raise invalid("Malformed input request: #: required key [prompt] not found, or it is not a string")
        limit = body.get("max_gen_len", _DEFAULT_TOKENS)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MOST_TOKENS:
            raise invalid(f"Malformed input request: #/max_gen_len: {limit!r} is not an integer up to {_MOST_TOKENS}")
        limits: JsonObject = {"maxTokens": limit}
        for own, name in (("temperature", "temperature"), ("top_p", "topP")):
            if own in body:
                value = as_number(body[own])
                if value is None or not 0 <= value <= 1:
                    raise invalid(f"Malformed input request: #/{own}: {body[own]!r} is not a number from 0 to 1")
                limits[name] = value
        system, turns = _read_prompt(prompt)
        messages: list[JsonObject] = [{"role": role, "content": [{"text": text}]} for role, text in turns]
        if pictures := as_list(body.get("images")):
            blocks: list[object] = [_image(picture) for picture in pictures]
            messages[-1]["content"] = [*blocks, *as_list(messages[-1]["content"])]
        converse: JsonObject = {"messages": messages, "inferenceConfig": limits}
        if system:
            converse["system"] = [{"text": system}]
        self._prompt_tokens = estimate_input_tokens(converse)
        return converse

    def answer(self, converse: JsonObject, message_id: str) -> JsonObject:
        """Return a Converse response as a generation."""
        message = as_object(as_object(converse.get("output")).get("message"))
        usage = as_object(converse.get("usage"))
        return {
            "generation": "".join(as_text(as_object(block).get("text")) for block in as_list(message.get("content"))),
            "prompt_token_count": usage.get("inputTokens"),
            "generation_token_count": usage.get("outputTokens"),
            "stop_reason": _STOP_REASONS.get(as_text(converse.get("stopReason")), "stop"),
        }

    def events(self, kind: str, payload: JsonObject, message_id: str) -> Iterator[Mapping[str, object]]:
        """Yield the parts that correspond to an event of ConverseStream; the first one has the prompt's token count."""
        if kind == "contentBlockDelta" and "text" in (delta := as_object(payload.get("delta"))):
            self._generated += 1
            yield self._part(as_text(delta["text"]), self._generated)
        elif kind == "messageStop":
            self._stop_reason = _STOP_REASONS.get(as_text(payload.get("stopReason")), "stop")
        elif kind == "metadata":
            usage, metrics = as_object(payload.get("usage")), as_object(payload.get("metrics"))
            yield {
                **self._part("", usage.get("outputTokens")),
                "amazon-bedrock-invocationMetrics": {
                    "inputTokenCount": usage.get("inputTokens"),
                    "outputTokenCount": usage.get("outputTokens"),
                    "invocationLatency": metrics.get("latencyMs"),
                },
            }

    def _part(self, text: str, generated: object) -> JsonObject:
        prompt_tokens, self._prompt_tokens = self._prompt_tokens, None
        return {
            "generation": text,
            "prompt_token_count": prompt_tokens,
            "generation_token_count": generated,
            "stop_reason": self._stop_reason,
        }


def _read_prompt(prompt: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a prompt's system text and its turns; a prompt without special tokens is one turn of the user."""
    turns: list[tuple[str, str]] = []
    system: list[str] = []
    for role, text in _TURN.findall(prompt):
        turns.append((role if role in ("system", "assistant") else "user", _plain(text)))
    if not turns:
        for question, answer in _OLDER_TURN.findall(prompt):
            system += _SYSTEM.findall(question)
            turns += [("user", _plain(_SYSTEM.sub("", question))), ("assistant", _plain(answer))]
    system += [text for role, text in turns if role == "system"]
    dialogue = [(role, text) for role, text in turns if role != "system" and text]
    if not dialogue or dialogue[0][0] != "user":
        return "", [("user", _plain(prompt) or prompt)]
    return "\n".join(text.strip() for text in system).strip(), dialogue


def _image(picture: object) -> JsonObject:
    content = as_text(picture)
    image_format = next((kind for start, kind in _IMAGE_FORMATS.items() if content.startswith(start)), None)
    if image_format is None:
        raise invalid("Malformed input request: #/images: an image is not PNG, JPEG, GIF or WebP in base64")
    return {"image": {"format": image_format, "source": {"bytes": content}}}


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()
