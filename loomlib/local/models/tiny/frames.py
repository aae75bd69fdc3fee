"""The frames of a streamed answer: text that the model decodes, and the calls that the planner chose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..json_values import JsonObject
from ..reply import Reply, encode_event
from ..request import ModelToolCall
from .prompt import written_call

_AFTER_ARGUMENTS: Final = "</tool_call>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a planned answer: its text, the start of a call, its arguments, or the end mark."""

    kind: Literal["text", "head", "input", "end"]
    text: str
    call: ModelToolCall | None = None


class GrowingReply:
    """Collects the decoded text, and yields the corresponding frames of ConverseStream.

    Args:
        planned: The planned answer that the model decodes word for word; None for an answer in its own words.
    """

    def __init__(self, planned: Reply | None = None) -> None:
        self._parts: Sequence[_Part] = () if planned is None else _parts(planned)
        self._own = planned is None
        self._part, self._at = 0, 0
        self._block, self._open = -1, False
        self._is_started = False
        self.text = ""
        self.calls: list[ModelToolCall] = []

    @property
    def planned_text(self) -> str:
        """The whole text that the model decodes for a planned answer."""
        return "".join(part.text for part in self._parts)

    def feed(self, text: str) -> Iterator[bytes]:
        """Yield the frames of a newly decoded text."""
        if text and not self._is_started:
            self._is_started = True
            yield encode_event("messageStart", {"role": "assistant"})
        if self._own:
            if text:
                yield from self._say(text)
            return
        while text and self._part < len(self._parts):
            part = self._parts[self._part]
            piece, text = text[: len(part.text) - self._at], text[len(part.text) - self._at :]
            self._at += len(piece)
            if part.kind == "text":
                yield from self._say(piece)
            elif part.kind == "input":
                yield encode_event(
                    "contentBlockDelta", {"contentBlockIndex": self._block, "delta": {"toolUse": {"input": piece}}}
                )
            if self._at == len(part.text):
                self._part, self._at = self._part + 1, 0
                yield from self._complete(part)

    def finish(self, stop_reason: str, additional: JsonObject) -> Iterator[bytes]:
        """Yield the frames that end the message."""
        if not self._is_started:
            yield encode_event("messageStart", {"role": "assistant"})
        if self._block < 0:
            yield from self._say("")
        yield from self._close()
        yield encode_event("messageStop", {"stopReason": stop_reason, "additionalModelResponseFields": additional})

    def _say(self, text: str) -> Iterator[bytes]:
        if not self._open:
            self._open, self._block = True, self._block + 1
        self.text += text
        yield encode_event("contentBlockDelta", {"contentBlockIndex": self._block, "delta": {"text": text}})

    def _complete(self, part: _Part) -> Iterator[bytes]:
        call = part.call
        if part.kind == "head" and call is not None:
            yield from self._close()
            self._open, self._block = True, self._block + 1
            start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
            yield encode_event("contentBlockStart", {"contentBlockIndex": self._block, "start": start})
        elif part.kind == "input" and call is not None:
            self.calls.append(call)
            yield from self._close()

    def _close(self) -> Iterator[bytes]:
        if self._open:
            self._open = False
            yield encode_event("contentBlockStop", {"contentBlockIndex": self._block})


def grammar_of(text: str) -> str:
    """Return a llama.cpp grammar that accepts one text only."""
    return f'root ::= "{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    code = ord(character)
    return f"\\x{code:02X}" if code < 0x80 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _parts(reply: Reply) -> Sequence[_Part]:
    parts = [_Part(kind="text", text=reply.text)] if reply.text else []
    for call in reply.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=repr)
        head = written_call(call.name, dict(call.arguments)).removesuffix(arguments + _AFTER_ARGUMENTS)
        parts.append(_Part(kind="head", text=head, call=call))
        parts.append(_Part(kind="input", text=arguments, call=call))
        parts.append(_Part(kind="end", text=_AFTER_ARGUMENTS))
    return parts
