"""Messages and tool calls that are still incomplete while a fold receives events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from loomlib.json_values import as_mapping, as_text

from .run import AguiMessage, AguiToolUse


@dataclass(slots=True)
class GrowingMessage:
    """A message whose text arrives in pieces."""

    id: str
    role: str
    kind: str
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False

    def message(self) -> AguiMessage:
        """Return the message with the text received so far."""
        return AguiMessage(id=self.id, role=self.role, text="".join(self.parts), is_complete=self.ended, kind=self.kind)


@dataclass(slots=True)
class GrowingTool:
    """A tool call whose arguments arrive in pieces; `parent` is the id of its message, or ""."""

    id: str
    name: str
    parent: str = ""
    parts: list[str] = field(default_factory=list[str])
    ended: bool = False
    result: str | None = None

    def tool_use(self, *, is_over: bool) -> AguiToolUse:
        """Return the call as received so far; `is_over` means that it is complete."""
        text = "".join(self.parts)
        arguments: Any = None
        if self.ended:
            try:
                arguments = json.loads(text or "{}")
            except (ValueError, RecursionError):
                arguments = None
        open_state = "cut off" if is_over else "running"
        state = "done" if self.result is not None else "called" if self.ended else open_state
        return AguiToolUse(
            id=self.id, name=self.name, arguments_text=text, arguments=arguments, result=self.result, state=state
        )


def content_text(content: Any) -> str:
    """Return the text of a message's or a result's content; a part that is not text becomes its type in brackets."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [as_mapping(part) for part in cast("Sequence[Any]", content)]
    return "".join(as_text(part.get("text")) or f"[{part.get('type', 'part')}]" for part in parts)
