"""The part of a response that shows whether the agent failed: stored in the journal, evaluated when it is read.

The measuring process does not store bodies. It stores the beginning of an error response, an error that an event stream
or a JSON body reports with the status 200, and a body that is declared as JSON but is not JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

ERROR_BYTES: Final = 2_000
_JSON_BYTES: Final = 65_536
_SIGNS: Final = (b'"error"', b"event: error", b"event:error", b"RUN_ERROR")


class FailureEvidence:
    """Collects the evidence from one response."""

    __slots__ = ("_body", "_kind", "_previous")

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._kind = "json" if content_type == "application/json" or content_type.endswith("+json") else "text"
        if content_type == "text/event-stream":
            self._kind = "events"
        if status >= 300:
            self._kind = "refusal"
        self._body = b""
        self._previous = b""

    def feed(self, data: bytes) -> None:
        """Process bytes of the body."""
        if self._kind == "events":
            if self._body:
                self._body = (self._body + data)[:ERROR_BYTES]
            elif any(sign in data for sign in _SIGNS):
                self._body = (self._previous[-ERROR_BYTES // 4 :] + data)[:ERROR_BYTES]
            self._previous = data
        elif self._kind == "json":
            self._body += data
            if len(self._body) > _JSON_BYTES:
                self._kind, self._body = "text", b""
        elif self._kind == "refusal" and len(self._body) < ERROR_BYTES:
            self._body = (self._body + data)[:ERROR_BYTES]

    def outcome(self) -> tuple[str, bool]:
        """Return the stored evidence, "" for none, and whether the body does not match its content type."""
        if self._kind == "json" and self._body.strip():
            try:
                value: object = json.loads(self._body)
            except (ValueError, RecursionError):
                return self._body[:ERROR_BYTES].decode("utf-8", "replace"), True
            fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
            if not fields.get("error"):
                return "", False
            error, kind = fields["error"], fields.get("error_type")
            error = error if isinstance(error, str) else json.dumps(error)
            return json.dumps({"error": error[:ERROR_BYTES], "error_type": kind}), False
        return self._body.decode("utf-8", "replace") if self._kind != "json" else "", False
