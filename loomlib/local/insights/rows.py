"""A log event as a row of fields: CloudWatch's own fields, and those discovered in its JSON."""

from __future__ import annotations

import json
from typing import Any, cast

from .values import Moment


class Row:
    """A row of fields by name.

    Fields of the message's JSON are read at their first use; `values` are those that the query added.
    """

    __slots__ = ("_discovered", "_event", "values")

    def __init__(self, event: dict[str, Any] | None = None, values: dict[str, Any] | None = None) -> None:
        self._event, self.values = event, values if values is not None else {}
        self._discovered: dict[str, Any] | None = None

    @classmethod
    def of_event(cls, *, message: str, timestamp_ms: int, ingested_ms: int, stream: str, log: str, pointer: str) -> Row:
        """Build the row of one log event."""
        return cls(
            {
                "@timestamp": Moment(timestamp_ms),
                "@message": message,
                "@ingestionTime": Moment(ingested_ms),
                "@logStream": stream,
                "@log": log,
                "@ptr": pointer,
            }
        )

    def get(self, name: str) -> Any:
        """Return a field's value; None when the row has no such field."""
        if name in self.values:
            return self.values[name]
        if self._event is None:
            return None
        if name in self._event:
            return self._event[name]
        if self._discovered is None:
            self._discovered = _discovered(self._event["@message"])
        return self._discovered.get(name)

    @property
    def pointer(self) -> str | None:
        """The pointer to the event; None for a row of statistics."""
        return self._event["@ptr"] if self._event is not None else None


def _discovered(message: str) -> dict[str, Any]:
    """Return the fields of a message's JSON; the names of nested fields are joined by dots."""
    start = message.find("{")
    if start < 0:
        return {}
    try:
        document, _ = json.JSONDecoder().raw_decode(message, start)
    except (ValueError, RecursionError):
        return {}
    fields: dict[str, Any] = {}
    _flatten(document, "", fields)
    return fields


def _flatten(value: object, name: str, fields: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            _flatten(item, f"{name}.{key}" if name else key, fields)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            _flatten(item, f"{name}.{index}" if name else str(index), fields)
    elif value is not None:
        fields.setdefault(name, value)
