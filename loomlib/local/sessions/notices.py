"""Lines that the service adds to the logs about a session's start and its export of spans.

AWS does not write such lines. Those about spans begin with `Loom: session {id}: `, by which `loomlib.telemetry` finds
them; the record of a start is found by its event's name.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from ..contract import LogSink
from .start_times import StartTimes

_TELEMETRY_STREAM = "otel-rt-logs"
_MOST_SIGNALS = 20


class SessionNotices:
    """Writes notices about one session.

    Those about spans go to the stream of OpenTelemetry records, which readers of an agent's lines do not see; how a
    process ended goes to that process's own stream.
    """

    def __init__(self, sink: LogSink, *, group: str, stream: str, session_id: str) -> None:
        self._sink, self._group, self._stream, self._session_id = sink, group, stream, session_id
        self._last_signal, self._signals_left = b"", _MOST_SIGNALS

    def on_signal(self, signal: bytes) -> None:
        """Record a byte from the process: `-` means that it has not created a span, `+` that it now has.

        A process may send any number of bytes: only changes are recorded, and only the first few.
        """
        if signal not in (b"-", b"+") or signal == self._last_signal or not self._signals_left:
            return
        self._last_signal, self._signals_left = signal, self._signals_left - 1
        if signal == b"-":
            self.makes_no_spans()
        else:
            self._record(self._text("makes spans now"), "loom.makes_spans")

    def makes_no_spans(self) -> None:
        """Record that this process will not create spans."""
        self._record(self._text("makes no spans"), "loom.makes_no_spans")

    def record_start(self, times: StartTimes, platform: str) -> None:
        """Record the duration of each part of the session's start.

        Args:
            times: The times.
            platform: The version's platform, "V1" or "V2".
        """
        if parts := times.parts():
            how = "boot" if times.kind == "boot" else "restore from a snapshot"
            self._record(
                f"Loom: start of session {self._session_id}: {how}, {sum(parts.values()) / 1e6:.1f} ms",
                "loom.session_start",
                {
                    "loom.start.kind": times.kind,
                    "loom.start.platform": platform,
                    "loom.start.began_unix_nano": times.began_unix_ns,
                    "loom.start.parts_nano": parts,
                },
            )

    def ended_unexpectedly(self, how: str) -> None:
        """Record that the process ended by itself; `how` is a phrase such as `was killed by SIGKILL`."""
        message = self._text(f"its process {how}; what it had not exported by then is lost")
        self._sink.write(group=self._group, stream=self._stream, timestamp_ms=_now_ms(), message=message)

    def reached_limit(self, sentence: str) -> None:
        """Record that the session reached a limit; `sentence` names it."""
        self._sink.write(group=self._group, stream=self._stream, timestamp_ms=_now_ms(), message=self._text(sentence))

    def _text(self, message: str) -> str:
        return f"Loom: session {self._session_id}: {message}"

    def _record(self, body: str, event: str, more: Mapping[str, object] | None = None) -> None:
        now_ms = _now_ms()
        record = {
            "timeUnixNano": now_ms * 1_000_000,
            "severityText": "INFO",
            "body": body,
            "attributes": {"event.name": event, "session.id": self._session_id, **(more or {})},
        }
        message = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        self._sink.write(group=self._group, stream=_TELEMETRY_STREAM, timestamp_ms=now_ms, message=message)


def _now_ms() -> int:
    return int(time.time() * 1000)
