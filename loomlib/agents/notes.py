"""What an event of an answer tells beside its text: that a tool is used, with what, and what came of it.

Agents have no common form for this either. Each reader knows one convention; the first that recognizes an event wins.
What none recognizes is a note of kind `event`, so that nothing an agent says is hidden.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from .agui.events import read_event
from .mcp_apps.views import read_view


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that an event tells. `values` are the agent's own: strangers' texts.

    Kinds: `tool` (`name`, and where the event has them `id`, `arguments`, `result`, `state` "running", "done" or
    "failed"), `agui` and `view` (see `agui_event` and `app_view`), and `event` (`data`, any JSON object).
    """

    kind: str
    values: Mapping[str, Any] = field(repr=False)


Reader = Callable[[Mapping[str, Any]], "Note | None"]


def note_of(data: bytes) -> Note | None:
    """What the bytes of one `Chunk` tell; None for plain text and for text events."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    found = cast("Mapping[str, Any]", value)
    for reader in READERS:
        note = reader(found)
        if note is not None:
            return note
    return None if _is_text(found) else Note(kind="event", values={"data": found})


def plain_tool(found: Mapping[str, Any]) -> Note | None:
    """`{"tool": "find_order", …}`: the convention of Loom's blueprints."""
    name = found.get("tool")
    if not isinstance(name, str):
        return None
    kept = {key: found[key] for key in ("id", "arguments", "result", "state") if key in found}
    return Note(kind="tool", values={"name": name, **kept})


def strands_tool(found: Mapping[str, Any]) -> Note | None:
    """Strands' own events, passed on: `current_tool_use`, and the model's `contentBlockStart`."""
    use = _inner(found, "current_tool_use") or _inner(found, "event", "contentBlockStart", "start", "toolUse")
    if use is None or not isinstance(use.get("name"), str):
        return None
    values: dict[str, Any] = {"name": use["name"]}
    if isinstance(use.get("toolUseId"), str):
        values["id"] = use["toolUseId"]
    if use.get("input"):
        values["arguments"] = use["input"]
    return Note(kind="tool", values=values)


def agui_event(found: Mapping[str, Any]) -> Note | None:
    """AG-UI: a note of kind `agui` with the whole `event`, its `type`, and what is wrong with it (`problem`)."""
    event = read_event(found)
    if event is None:
        return None
    return Note(kind="agui", values={"type": event.type, "event": event.values, "problem": event.problem})


def app_view(found: Mapping[str, Any]) -> Note | None:
    """MCP Apps: a note of kind `view` with an `AppView`."""
    view = read_view(found)
    return None if view is None else Note(kind="view", values={"view": view})


READERS: Final[tuple[Reader, ...]] = (agui_event, app_view, plain_tool, strands_tool)
"""The conventions that are known, the first that recognizes an event wins."""


def _is_text(found: Mapping[str, Any]) -> bool:
    return any(isinstance(found.get(key), str) for key in ("data", "text", "delta")) or (
        _inner(found, "event", "contentBlockDelta") is not None
    )


def _inner(found: Mapping[str, Any], *keys: str) -> Mapping[str, Any] | None:
    value: object = found
    for key in keys:
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None
