"""The conversation as AG-UI's messages on the wire: what the next run is sent, so that an agent without a memory knows
what was said. (The protocol has the asker send all of it with each run.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .parts import GrowingMessage, GrowingTool, as_mapping, as_text, content_text
from .run import AguiRun

Wire = dict[str, Any]


def said_last(messages: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Of a whole conversation, the messages after the person's last: those of the run that sends it."""
    found: list[Mapping[str, Any]] = []
    for each in map(as_mapping, messages):
        if each.get("role") == "user":
            found.clear()
        else:
            found.append(each)
    return found


def answer_in(messages: Sequence[Any]) -> str:
    """The agent's own words in `said_last`."""
    texts = [content_text(each.get("content")) for each in said_last(messages) if each.get("role") == "assistant"]
    return "\n\n".join(filter(None, texts))


def conversation_of(turns: Iterable[tuple[str, str, AguiRun | None]]) -> list[Wire]:
    """The messages of turns, each an id, what the person wrote ("" for nothing), and the run that answered.

    A run that sent a snapshot of the conversation has all that was before it. What a failed run said is left out.
    """
    found: list[Wire] = []
    for id, prompt, run in turns:
        if run is not None and run.is_whole:
            found = [dict(each) for each in run.history]
            continue
        if prompt:
            found.append({"id": id, "role": "user", "content": prompt})
        found += [dict(each) for each in run.history] if run is not None else []
    return found


def tool_answer(tool_call_id: str, content: str) -> Wire:
    """The message that answers a call of a tool that the asker itself offered (`run_input(tools=…)`)."""
    return {"id": f"answer-{tool_call_id}", "role": "tool", "toolCallId": tool_call_id, "content": content}


class History:
    """The messages of a run in their order, from what has streamed since the last snapshot of the conversation."""

    def __init__(self) -> None:
        self._snapshot: Sequence[Any] | None = None
        self._order: dict[tuple[str, str], str] = {}
        self._before: frozenset[tuple[str, str]] = frozenset()
        self.encrypted: dict[tuple[str, str], str] = {}
        """Opaque values that are sent back, by ("message" or "tool-call", id)."""

    @property
    def is_whole(self) -> bool:
        """Whether it holds the conversation from its beginning."""
        return self._snapshot is not None

    def note(self, what: str, id: str, name: str = "") -> None:
        """A `message`, `call` or `result` begins; `name` is the id of the message that a result is."""
        self._order.setdefault((what, id), name)

    def replace(self, messages: Sequence[Any]) -> None:
        """The whole conversation came: what has streamed is in it."""
        self._snapshot, self._before = messages, frozenset(self._order)

    def messages(
        self, messages: Mapping[str, GrowingMessage], tools: Mapping[str, GrowingTool], *, is_broken: bool
    ) -> tuple[Wire, ...]:
        """All of them. Of a broken run, calls that nobody answered are left out: no model takes them."""
        found = [dict(as_mapping(each)) for each in self._snapshot or () if isinstance(each, dict)]
        places = {each.get("id"): each for each in found}
        for key, name in self._order.items():
            if key in self._before:
                continue
            what, id = key
            made: Wire | None = None
            if what == "message":
                made = self._said(messages[id])
            elif what == "call" and not (is_broken and tools[id].result is None):
                made = self._called(tools[id], places)
            elif what == "result":
                made = {"id": name or f"result-{id}", "role": "tool", "toolCallId": id, "content": tools[id].result}
            if made is not None:
                found.append(made)
                places[made["id"]] = made
        return tuple(found)

    def _said(self, message: GrowingMessage) -> Wire:
        role = "reasoning" if message.kind == "reasoning" else message.role
        return self._sealed({"id": message.id, "role": role, "content": "".join(message.parts)}, "message", message.id)

    def _called(self, tool: GrowingTool, places: Mapping[Any, Wire]) -> Wire | None:
        """The message that holds the call, where there is none yet."""
        function = {"name": tool.name, "arguments": "".join(tool.parts)}
        call = self._sealed({"id": tool.id, "type": "function", "function": function}, "tool-call", tool.id)
        id = tool.parent or f"call-{tool.id}"
        holder = places.get(id)
        if holder is None or holder.get("role") != "assistant":
            return {"id": id if holder is None else f"call-{tool.id}", "role": "assistant", "toolCalls": [call]}
        holder["toolCalls"] = [*holder.get("toolCalls", ()), call]
        return None

    def _sealed(self, made: Wire, what: str, id: str) -> Wire:
        value = as_text(self.encrypted.get((what, id)))
        return made if value is None else {**made, "encryptedValue": value}
