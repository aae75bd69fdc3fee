"""Records too long for a log event: the event gets truncated texts, and the full record is stored separately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

MAX_EVENT_BYTES = 262_144 - 26
"""CloudWatch Logs: an event has at most 256 KiB, 26 bytes of which are overhead (PutLogEvents)."""

CUT_MARK = "loom.cut_from_bytes"
"""The member of a cut record's attributes that holds the size of the whole record in bytes."""

_LONGEST_TEXTS = (16_384, 4_096, 1_024, 256, 64)
_KEPT_ALWAYS = (
    *("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "durationNano"),
    *("timeUnixNano", "observedTimeUnixNano", "severityNumber", "status", "_aws", "Version"),
)


def fits(text: str) -> bool:
    """Return whether a log event can hold `text`."""
    return len(text) * 4 <= MAX_EVENT_BYTES or len(_encoded(text)) <= MAX_EVENT_BYTES


def log_form(record: dict[str, Any], dump: Callable[[object], str], text: str) -> str:
    """Serialize a record, truncating its long texts until it fits.

    A cut text ends with a note; `CUT_MARK` gives its full size.

    Args:
        record: The record; its texts are cut in place.
        dump: The function that serializes it.
        text: The record as `dump` serialized it.
    """
    size = len(_encoded(text))
    for longest in _LONGEST_TEXTS:
        if fits(serialized := dump(_marked(cast("dict[str, Any]", _cut(record, longest)), size))):
            return serialized
    retained = {name: _cut(record[name], 64) for name in _KEPT_ALWAYS if name in record}
    session = record.get("attributes", {}).get("session.id")
    retained["attributes"] = {"session.id": _cut(session, 256)} if session else {}
    serialized = dump(_marked(retained, size))
    return (
        serialized if fits(serialized) else dump({"traceId": record.get("traceId", ""), "attributes": {CUT_MARK: size}})
    )


def _marked(record: dict[str, Any], size: int) -> dict[str, Any]:
    return record | {"attributes": {**record.get("attributes", {}), CUT_MARK: size}}


def _cut(value: object, longest: int) -> object:
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        return f"{value[:longest]}… [{len(value) - longest} more characters, cut at the size of a log event]"
    if isinstance(value, dict):
        return {name[:longest]: _cut(item, longest) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_cut(item, longest) for item in cast("list[object]", value)]
    return value


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
