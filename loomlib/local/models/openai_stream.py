"""Translation of a streamed chat completion into ConverseStream frames, event by event."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from .json_values import JsonObject, as_integer, as_list, as_object, as_text
from .openai_wire import STOP_REASONS, tokens_of
from .reply import encode_event
from .tokens import CHARACTERS_PER_TOKEN


class ChatStream:
    """Translates events into frames, and counts tokens; `finish` estimates the output tokens if the server does not.

    Converse numbers its content blocks and closes one before it opens the next; a chat stream does neither.
    """

    def __init__(self) -> None:
        self.input_tokens = self.output_tokens = 0
        self._characters = 0
        self._is_started = False
        self._open: str | None = None
        self._block = -1
        self._reason = ""
        self._has_tool_calls = False
        self._ids: dict[int, str] = {}

    def feed(self, event: JsonObject) -> list[bytes]:
        """Translate one event into frames."""
        frames: list[bytes] = []
        counted = tokens_of(event)
        if any(counted):
            self.input_tokens, self.output_tokens = counted
        for entry in as_list(event.get("choices"))[:1]:
            choice = as_object(entry)
            delta = as_object(choice.get("delta"))
            if not self._is_started:
                self._is_started = True
                frames.append(encode_event("messageStart", {"role": "assistant"}))
            if text := as_text(delta.get("content")):
                frames += self._switch("text")
                frames.append(self._delta({"text": text}))
                self._characters += len(text)
            for call in as_list(delta.get("tool_calls")):
                frames += self._feed_call(as_object(call))
            self._reason = as_text(choice.get("finish_reason")) or self._reason
        return frames

    def finish(self) -> list[bytes]:
        """Return the frames that end the message.

        Raises:
            ValueError: The stream ended without a finish reason, which every complete answer has.
        """
        if not self._reason:
            raise ValueError("it ended before the answer was complete")
        frames = [] if self._is_started else [encode_event("messageStart", {"role": "assistant"})]
        if self._block < 0:
            frames += self._switch("text")
            frames.append(self._delta({"text": ""}))
        frames += self._close()
        self.output_tokens = self.output_tokens or -(-self._characters // CHARACTERS_PER_TOKEN)
        reason = STOP_REASONS.get(self._reason, "end_turn")
        stop = "tool_use" if self._has_tool_calls and reason == "end_turn" else reason
        return [*frames, encode_event("messageStop", {"stopReason": stop})]

    def _feed_call(self, call: JsonObject) -> list[bytes]:
        function = as_object(call.get("function"))
        frames: list[bytes] = []
        identity = as_text(call.get("id"))
        index = as_integer(call.get("index")) or 0
        if identity and as_text(function.get("name")):
            self._ids[index] = identity  # some servers number every call 0
        key = f"call {index} {self._ids.get(index, '')}"
        if self._open != key:
            start: JsonObject = {
                "toolUse": {"toolUseId": identity or f"call_{self._block + 1}", "name": as_text(function.get("name"))}
            }
            frames += self._switch(key, start)
            self._has_tool_calls = True
            self._characters += len(as_text(function.get("name")))
        if arguments := as_text(function.get("arguments")):
            frames.append(self._delta({"toolUse": {"input": arguments}}))
            self._characters += len(arguments)
        return frames

    def _switch(self, key: str, start: JsonObject | None = None) -> list[bytes]:
        if self._open == key:
            return []
        frames = self._close()
        self._open = key
        self._block += 1
        if start is not None:
            frames.append(encode_event("contentBlockStart", {"contentBlockIndex": self._block, "start": start}))
        return frames

    def _close(self) -> list[bytes]:
        if self._open is None:
            return []
        self._open = None
        return [encode_event("contentBlockStop", {"contentBlockIndex": self._block})]

    def _delta(self, delta: JsonObject) -> bytes:
        return encode_event("contentBlockDelta", {"contentBlockIndex": self._block, "delta": delta})


async def events_of(lines: AsyncIterator[bytes]) -> AsyncIterator[JsonObject]:
    """Read the JSON objects of a server-sent event stream up to its `[DONE]`; raise `ValueError` for other content."""
    async for line in lines:
        field, _, value = line.decode("utf-8", "replace").strip().partition(":")
        if field != "data":
            continue
        if value.strip() == "[DONE]":
            return
        try:
            event = as_object(json.loads(value))
        except RecursionError as error:
            raise ValueError("an event is nested too deeply") from error
        yield event
