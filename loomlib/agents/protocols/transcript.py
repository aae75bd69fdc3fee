"""The messages of one protocol request, in both directions, with the times at the socket."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loomlib.json_values import as_mapping, as_text, number_or_none, parse_object

SENT: Final = "sent"
RECEIVED: Final = "received"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptEntry:
    """One message.

    Attributes:
        direction: "sent" or "received".
        at_ms: Milliseconds after the request was sent: right before the bytes were written, or right after they were
            read.
        size: Its bytes on the wire.
        message: The JSON message; a WebSocket's text as `{"text": …}`, its bytes as `{"base64": …}`.
    """

    direction: str
    at_ms: float
    size: int
    message: Mapping[str, Any] = field(repr=False)

    @property
    def kind(self) -> str:
        """`request`, `notification`, `response`, `error`, or `message` for anything that is not JSON-RPC."""
        message = self.message
        if "method" in message:
            return "request" if "id" in message else "notification"
        if "error" in message and "jsonrpc" in message:
            return "error"
        return "response" if "result" in message and "jsonrpc" in message else "message"

    @property
    def method(self) -> str:
        """The JSON-RPC method; "" in responses."""
        return as_text(self.message.get("method"))

    def to_event(self) -> str:
        """Return the entry as it is stored with the invocation."""
        entry = {"direction": self.direction, "at_ms": self.at_ms, "bytes": self.size, "message": self.message}
        try:
            return json.dumps(entry, ensure_ascii=False)
        except RecursionError:
            return json.dumps({**entry, "message": {"text": "(nested too deeply to be stored)"}})


def read_transcript(events: Iterable[str]) -> tuple[TranscriptEntry, ...]:
    """Return the entries among the stored events of an invocation; other events are left out."""
    entries: list[TranscriptEntry] = []
    for event in events:
        fields = parse_object(event)
        if fields.get("direction") in (SENT, RECEIVED):
            entries.append(
                TranscriptEntry(
                    direction=fields["direction"],
                    at_ms=number_or_none(fields.get("at_ms")) or 0.0,
                    size=int(number_or_none(fields.get("bytes")) or 0),
                    message=as_mapping(fields.get("message")),
                )
            )
    return tuple(entries)
