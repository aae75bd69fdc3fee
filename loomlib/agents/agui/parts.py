"""What a fold builds up while events come: messages and tool calls, still growing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from .run import Message, ToolUse


@dataclass(slots=True)
class GrowingMessage:
    """A message, and its text in the pieces that came."""

    id: str
    role: str
    kind: str
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False

    def message(self) -> Message:
        """What it is so far."""
        return Message(id=self.id, role=self.role, text="".join(self.parts), is_complete=self.ended, kind=self.kind)


@dataclass(slots=True)
class GrowingTool:
    """A call, and its arguments in the pieces that came. `parent` is the message that holds it, "" where none does."""

    id: str
    name: str
    parent: str = ""
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False
    result: str | None = None

    def tool_use(self, *, is_over: bool) -> ToolUse:
        """What it is so far; `is_over` says that no more will come."""
        text = "".join(self.parts)
        arguments: Any = None
        if self.ended:
            try:
                arguments = json.loads(text or "{}")
            except (ValueError, RecursionError):
                arguments = None
        open_state = "cut off" if is_over else "running"
        state = "done" if self.result is not None else "called" if self.ended else open_state
        return ToolUse(
            id=self.id, name=self.name, arguments_text=text, arguments=arguments, result=self.result, state=state
        )


def content_text(content: Any) -> str:
    """The text of a message's or a result's content; of parts that are no text, their kind."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [as_mapping(each) for each in cast("Sequence[Any]", content)]
    return "".join(as_text(each.get("text")) or f"[{each.get('type', 'part')}]" for each in parts)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def as_text(value: Any) -> str | None:
    """The value where it is a text."""
    return value if isinstance(value, str) else None


def as_list(value: Any) -> Sequence[Any]:
    """The value where it is a list, else an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
