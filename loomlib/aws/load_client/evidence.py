"""The part of a response that shows whether the agent failed: stored in the journal, evaluated when it is read.

The measuring process does not store bodies. It stores the beginning of an error response, an error that an event stream
or a JSON body reports with the status 200, and a body that is declared as JSON but is not JSON.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from typing import Final, cast

ERROR_BYTES: Final = 2_000
_JSON_BYTES: Final = 65_536
"""Largest JSON body, and largest part of an event, that is searched for an error."""


class FailureEvidence:
    """Collects the evidence from one response; any split of the same bytes gives the same evidence.

    The evidence of an event stream is its events that may report an error; the reader of the evidence decides.
    """

    __slots__ = ("_body", "_kind", "_rest")

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._kind = "json" if content_type == "application/json" or content_type.endswith("+json") else "text"
        if content_type == "text/event-stream":
            self._kind = "events"
        if status >= 300:
            self._kind = "refusal"
        self._body = b""
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Process bytes of the body."""
        if self._kind == "events":
            self._feed_events(data)
        elif self._kind == "json":
            self._body += data
            if len(self._body) > _JSON_BYTES:
                self._kind, self._body = "text", b""
        elif self._kind == "refusal" and len(self._body) < ERROR_BYTES:
            self._body = (self._body + data)[:ERROR_BYTES]

    def outcome(self) -> tuple[str, bool]:
        """Return the stored evidence, "" for none, and whether the body does not match its content type."""
        if self._kind == "events":
            self._keep_errors(self._rest)  # an event without its blank line ends with the stream
            self._rest = b""
        if self._kind == "json" and self._body.strip():
            try:
                value: object = json.loads(self._body)
                fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
                # An answer may have an error beside its text: the reader of the evidence decides.
                return json.dumps(fields) if fields.get("error") else "", False
            except (ValueError, RecursionError):
                return self._body[:ERROR_BYTES].decode("utf-8", "replace"), True
        return self._body.decode("utf-8", "replace") if self._kind != "json" else "", False

    def _feed_events(self, data: bytes) -> None:
        start = max(0, len(self._rest) - 1)  # no event ends before it
        data = self._rest + data
        if data.endswith(b"\n\n"):  # the common case, fast
            self._keep_errors(data)
            self._rest = b""
            return
        # A blank line, with LF, CR LF or CR as the line end, contains one of these pairs.
        end = 1 + max(data.rfind(b"\n\n", start), data.rfind(b"\n\r", start), data.rfind(b"\r\r", start))
        if end:
            self._keep_errors(data[:end])
            data = data[end:]
        if len(data) > _JSON_BYTES:  # the last byte shows whether the event ends with the next one
            data = data[:_JSON_BYTES] + data[-1:]
        self._rest = data

    def _keep_errors(self, events: bytes) -> None:
        """Store those of some whole events that may report an error."""
        if b"error" not in events and b"RUN_ERROR" not in events:
            return
        events = events.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        for event in events.split(b"\n\n"):
            if len(self._body) < _JSON_BYTES and _may_report_error(event[:_JSON_BYTES]):
                self._body += event.strip(b"\n")[:_JSON_BYTES] + b"\n\n"


def _may_report_error(event: bytes) -> bool:
    """Return whether a server-sent event, with LF as the end of its lines, has one of the forms of an error."""
    if b"error" not in event and b"RUN_ERROR" not in event:
        return False
    lines = event.split(b"\n")
    data = [line[5:] for line in lines if line.startswith(b"data:")]
    if b"event: error" in lines or b"event:error" in lines:
        return bool(data)
    try:
        value: object = json.loads(b"\n".join(data).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return bool(fields.get("error")) or fields.get("type") == "RUN_ERROR"
