"""The content of a response's event besides its text: a tool call, its arguments and its result.

Agents have no common form for this. Each reader knows one convention; the first that recognizes an event wins. What
none recognizes is a note of kind `event`, so that nothing an agent sends is hidden.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.json_values import as_mapping, mapping_or_none

from .agui.events import read_event
from .mcp_apps.views import read_view


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that an event reports.

    Attributes:
        kind: `tool` (`name`, and where the event has them `id`, `arguments`, `result`, `state` "running", "done" or
            "failed"), `agui` or `view` (see `agui_event` and `app_view`), or `event` (`data`, any JSON object).
        values: The agent's own values; untrusted.
    """

    kind: str
    values: Mapping[str, Any] = field(repr=False)


Reader = Callable[[Mapping[str, Any]], "Note | None"]


def note_of(data: bytes) -> Note | None:
    """Return what one `Chunk` reports besides text; None for text."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = cast("Mapping[str, Any]", value)
    for reader in READERS:
        note = reader(fields)
        if note is not None:
            return note
    return None if _is_text(fields) else Note(kind="event", values={"data": fields})


def plain_tool(fields: Mapping[str, Any]) -> Note | None:
    """Read `{"tool": "find_order", …}`, the convention of Loom's blueprints."""
    name = fields.get("tool")
    if not isinstance(name, str):
        return None
    values = {key: fields[key] for key in ("id", "arguments", "result", "state") if key in fields}
    return Note(kind="tool", values={"name": name, **values})


def strands_tool(fields: Mapping[str, Any]) -> Note | None:
    """Read Strands' own events, passed on: `current_tool_use`, and the model's `contentBlockStart`."""
    use = _inner(fields, "current_tool_use") or _inner(fields, "event", "contentBlockStart", "start", "toolUse")
    if use is None or not isinstance(use.get("name"), str):
        return None
    values: dict[str, Any] = {"name": use["name"]}
    if isinstance(use.get("toolUseId"), str):
        values["id"] = use["toolUseId"]
    if use.get("input"):
        values["arguments"] = use["input"]
    return Note(kind="tool", values=values)


def agui_event(fields: Mapping[str, Any]) -> Note | None:
    """Read an AG-UI event: a note of kind `agui` with the whole `event`, its `type`, and its `problem` if malformed."""
    event = read_event(fields)
    if event is None:
        return None
    return Note(kind="agui", values={"type": event.type, "event": event.values, "problem": event.problem})


def app_view(fields: Mapping[str, Any]) -> Note | None:
    """Read an MCP Apps view: a note of kind `view` with an `AppView`."""
    view = read_view(fields)
    return None if view is None else Note(kind="view", values={"view": view})


READERS: Final[tuple[Reader, ...]] = (agui_event, app_view, plain_tool, strands_tool)
"""The known conventions; the first that recognizes an event wins."""


def _is_text(fields: Mapping[str, Any]) -> bool:
    return any(isinstance(fields.get(key), str) for key in ("data", "text", "delta")) or (
        _inner(fields, "event", "contentBlockDelta") is not None
    )


def _inner(fields: Mapping[str, Any], *keys: str) -> Mapping[str, Any] | None:
    value: object = fields
    for key in keys:
        value = as_mapping(value).get(key)
    return mapping_or_none(value)
