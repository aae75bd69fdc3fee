"""Reading one AG-UI event from the JSON of a server-sent event.

The types and their required fields are those of protocol 1.0 (package ag-ui-protocol 1.0, `spec/1.0/schema.json`);
unknown events are kept unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

_ANY: Final = object
_TEXT: Final = (str,)
_LIST: Final = (list,)
_OBJECT: Final = (dict,)

EVENT_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "RUN_STARTED": {"threadId": _TEXT, "runId": _TEXT},
    "RUN_FINISHED": {"threadId": _TEXT, "runId": _TEXT},
    "RUN_ERROR": {"message": _TEXT},
    "STEP_STARTED": {"stepName": _TEXT},
    "STEP_FINISHED": {"stepName": _TEXT},
    "TEXT_MESSAGE_START": {"messageId": _TEXT},
    "TEXT_MESSAGE_CONTENT": {"messageId": _TEXT, "delta": _TEXT},
    "TEXT_MESSAGE_END": {"messageId": _TEXT},
    "TEXT_MESSAGE_CHUNK": {},
    "TOOL_CALL_START": {"toolCallId": _TEXT, "toolCallName": _TEXT},
    "TOOL_CALL_ARGS": {"toolCallId": _TEXT, "delta": _TEXT},
    "TOOL_CALL_END": {"toolCallId": _TEXT},
    "TOOL_CALL_CHUNK": {},
    "TOOL_CALL_RESULT": {"messageId": _TEXT, "toolCallId": _TEXT, "content": (str, list)},
    "STATE_SNAPSHOT": {"snapshot": _ANY},
    "STATE_DELTA": {"delta": _LIST},
    "MESSAGES_SNAPSHOT": {"messages": _LIST},
    "ACTIVITY_SNAPSHOT": {"messageId": _TEXT, "activityType": _TEXT, "content": _OBJECT},
    "ACTIVITY_DELTA": {"messageId": _TEXT, "activityType": _TEXT, "patch": _LIST},
    "RAW": {"event": _ANY},
    "CUSTOM": {"name": _TEXT, "value": _ANY},
    "REASONING_START": {"messageId": _TEXT},
    "REASONING_MESSAGE_START": {"messageId": _TEXT},
    "REASONING_MESSAGE_CONTENT": {"messageId": _TEXT, "delta": _TEXT},
    "REASONING_MESSAGE_END": {"messageId": _TEXT},
    "REASONING_MESSAGE_CHUNK": {},
    "REASONING_END": {"messageId": _TEXT},
    "REASONING_ENCRYPTED_VALUE": {"subtype": _TEXT, "entityId": _TEXT, "encryptedValue": _TEXT},
    "SUBAGENT_STARTED": {"subagentRunId": _TEXT, "name": _TEXT},
    "SUBAGENT_FINISHED": {"subagentRunId": _TEXT},
    "SUBAGENT_ERROR": {"subagentRunId": _TEXT, "message": _TEXT},
}
"""Every event type of protocol 1.0, with its required fields."""

_EVENT_TYPE: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class AguiEvent:
    """One event.

    Attributes:
        type: Its type.
        values: Its fields by their wire names; untrusted.
        is_known: Whether protocol 1.0 has its type.
        problem: What is wrong with a malformed event; "" for a valid one.
    """

    type: str
    values: Mapping[str, Any] = field(repr=False)
    is_known: bool = True
    problem: str = ""

    def text(self, name: str) -> str:
        """Return a field that is a string, "" otherwise."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


def is_agui(value: object) -> bool:
    """Return whether a JSON value is an event of a type that protocol 1.0 has."""
    kind = cast("dict[str, object]", value).get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in EVENT_TYPES


def read_event(data: bytes | str | Mapping[str, Any]) -> AguiEvent | None:
    """Parse the data of one server-sent event (`Chunk.data`); None when it is not an AG-UI event. Never raises.

    An object with an unknown `type` in capitals, like AG-UI's types, is an event of an unknown type; a known type
    without its required fields is malformed.
    """
    value: object = data
    if isinstance(data, (bytes, str)):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    kind = fields.get("type")
    if not isinstance(kind, str) or not _EVENT_TYPE.fullmatch(kind):
        return None
    if kind not in EVENT_TYPES:
        return AguiEvent(type=kind, values=fields, is_known=False)
    return AguiEvent(type=kind, values=fields, problem=_problem(kind, fields))


def _problem(kind: str, fields: Mapping[str, Any]) -> str:
    for name, types in EVENT_TYPES[kind].items():
        if name not in fields:
            return f"{kind} without {name}"
        if types is not _ANY and not isinstance(fields[name], types):
            return f"{kind}: {name} has the wrong type {type(fields[name]).__name__}"
    return ""
