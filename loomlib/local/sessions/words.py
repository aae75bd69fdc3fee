"""What the service says in the logs about a session's export of spans, for whoever looks for them in vain.

AWS has no such lines. They begin with `Loom: session {id}: `, by which `loomlib.telemetry` finds them.
"""

from __future__ import annotations

import json
import time

from ..contract import LogSink

_MESSAGES_STREAM = "otel-rt-logs"


class SessionWords:
    """Writes about one session: what concerns spans into the stream of OpenTelemetry's records, which no reader of
    an agent's lines sees, and how a process ended into that process's own stream."""

    def __init__(self, sink: LogSink, *, group: str, stream: str, session_id: str) -> None:
        self._sink, self._group, self._stream, self._session_id = sink, group, stream, session_id

    def heard(self, word: bytes) -> None:
        """The process says that it has made no span (`-`), or that it now has (`+`)."""
        if word == b"-":
            self.silent()
        elif word == b"+":
            self._record("makes spans now", "loom.makes_spans")

    def silent(self) -> None:
        """Nobody need wait for spans of this process."""
        self._record("makes no spans", "loom.makes_no_spans")

    def died(self, how: str) -> None:
        """The process ended although nobody had asked it to, `how` in words."""
        message = self._said(f"its process {how}; what it had not exported by then is lost")
        self._sink.write(group=self._group, stream=self._stream, timestamp_ms=_now_ms(), message=message)

    def _said(self, what: str) -> str:
        return f"Loom: session {self._session_id}: {what}"

    def _record(self, what: str, event: str) -> None:
        now_ms = _now_ms()
        record = {
            "timeUnixNano": now_ms * 1_000_000,
            "severityText": "INFO",
            "body": self._said(what),
            "attributes": {"event.name": event, "session.id": self._session_id},
        }
        message = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self._sink.write(group=self._group, stream=_MESSAGES_STREAM, timestamp_ms=now_ms, message=message)


def _now_ms() -> int:
    return int(time.time() * 1000)
