"""The conversation as AG-UI messages on the wire: the input of the next run, for agents without a memory.

The protocol requires the client to send all of it with each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loomlib.json_values import as_list, as_mapping, as_text, mapping_or_none, text_or_none

from .parts import GrowingMessage, GrowingTool, content_text
from .run import AguiRun

Wire = dict[str, Any]


def messages_of_run(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return the messages of a conversation's last run: those after the last user message."""
    result: list[Mapping[str, Any]] = []
    for message in map(as_mapping, messages):
        if message.get("role") == "user":
            result.clear()
        else:
            result.append(message)
    return result


def answer_in(messages: Sequence[Any]) -> str:
    """Return the agent's own text among the messages that `messages_of_run` selects."""
    texts = [
        content_text(message.get("content"))
        for message in messages_of_run(messages)
        if message.get("role") == "assistant"
    ]
    return "\n\n".join(filter(None, texts))


def conversation_of(turns: Iterable[tuple[str, str, AguiRun | None]]) -> list[Wire]:
    """Return the messages of several turns in order.

    A run that sent a snapshot of the conversation has everything before it. The messages of a failed run are left out.

    Args:
        turns: For each turn an id, the user's text ("" for none), and the run that answered.
    """
    messages: list[Wire] = []
    for id, prompt, run in turns:
        if run is not None and run.is_full_history:
            messages = [dict(message) for message in run.history]
            continue
        if prompt:
            messages.append({"id": id, "role": "user", "content": prompt})
        messages += [dict(message) for message in run.history] if run is not None else []
    return messages


def tool_answer(tool_call_id: str, content: str) -> Wire:
    """Return the message with the result of a tool that the client offered (`run_input(tools=…)`).

    Args:
        tool_call_id: The call.
        content: The result.
    """
    return {"id": f"answer-{tool_call_id}", "role": "tool", "toolCallId": tool_call_id, "content": content}


class History:
    """The messages of a run in order, from what was streamed since the last snapshot of the conversation."""

    def __init__(self) -> None:
        self._snapshot: Sequence[Any] | None = None
        self._order: dict[tuple[str, str], str] = {}
        self._before: frozenset[tuple[str, str]] = frozenset()
        self.encrypted: dict[tuple[str, str], str] = {}
        """Opaque values that are sent back, by ("message" or "tool-call", id)."""

    @property
    def is_full_history(self) -> bool:
        """Whether the history starts at the beginning of the conversation."""
        return self._snapshot is not None

    def note(self, kind: str, id: str, name: str = "") -> None:
        """Record the start of a message, tool call or tool result.

        Args:
            kind: `message`, `call` or `result`.
            id: Its id.
            name: For a result, the id of its message; "" otherwise.
        """
        self._order.setdefault((kind, id), name)

    def replace(self, messages: Sequence[Any]) -> None:
        """Replace the history by a snapshot, which includes the messages streamed before it."""
        self._snapshot, self._before = messages, frozenset(self._order)

    def messages(
        self, messages: Mapping[str, GrowingMessage], tools: Mapping[str, GrowingTool], *, is_broken: bool
    ) -> tuple[Wire, ...]:
        """Return all messages.

        Args:
            messages: The streamed messages by id.
            tools: The streamed tool calls by id.
            is_broken: Whether the run failed; then unanswered tool calls, which no model accepts, are left out.
        """
        wire = [dict(fields) for item in self._snapshot or () if (fields := mapping_or_none(item)) is not None]
        by_id = {as_text(message.get("id")): message for message in wire}
        for key, name in self._order.items():
            if key in self._before:
                continue
            kind, id = key
            message: Wire | None = None
            if kind == "message":
                message = self._message(messages[id])
            elif kind == "call" and not (is_broken and tools[id].result is None):
                message = self._tool_call(tools[id], by_id)
            elif kind == "result":
                message = {"id": name or f"result-{id}", "role": "tool", "toolCallId": id, "content": tools[id].result}
            if message is not None:
                wire.append(message)
                by_id[message["id"]] = message
        return tuple(wire)

    def _message(self, message: GrowingMessage) -> Wire:
        role = "reasoning" if message.kind == "reasoning" else message.role
        return self._with_encrypted(
            {"id": message.id, "role": role, "content": "".join(message.parts)}, "message", message.id
        )

    def _tool_call(self, tool: GrowingTool, places: Mapping[str, Wire]) -> Wire | None:
        """Return the message that contains the call, where there is none yet."""
        function = {"name": tool.name, "arguments": "".join(tool.parts)}
        call = self._with_encrypted({"id": tool.id, "type": "function", "function": function}, "tool-call", tool.id)
        id = tool.parent or f"call-{tool.id}"
        holder = places.get(id)
        if holder is None or holder.get("role") != "assistant":
            return {"id": id if holder is None else f"call-{tool.id}", "role": "assistant", "toolCalls": [call]}
        holder["toolCalls"] = [*as_list(holder.get("toolCalls")), call]
        return None

    def _with_encrypted(self, message: Wire, kind: str, id: str) -> Wire:
        value = text_or_none(self.encrypted.get((kind, id)))
        return message if value is None else {**message, "encryptedValue": value}
