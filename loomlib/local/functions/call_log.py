"""The log lines of a function call, in AWS's form."""

from __future__ import annotations

import time
from typing import Final

from ..contract import LogSink
from ..log_groups import group_key
from ..resources import place_of
from .versions import FunctionVersion

_TAIL_BYTES: Final = 4_096  # Lambda API reference, Invoke: LogResult is the last 4 KB


class CallLog:
    """The log lines of one call, in the form of AWS's.

    Args:
        sink: Takes them.
        function: The version.
        stream: The stream of its process.
        request_id: The call.
    """

    def __init__(self, sink: LogSink, function: FunctionVersion, stream: str, request_id: str) -> None:
        self._sink, self._function, self._stream, self._request_id = sink, function, stream, request_id
        self._group = group_key(place_of(function.arn), function.log_group)
        self._lines: list[str] = []

    @property
    def tail(self) -> str:
        """The end of the call's log."""
        return "\n".join(self._lines).encode()[-_TAIL_BYTES:].decode("utf-8", "replace")

    def start(self) -> None:
        """Write the first line of a call."""
        self._write(f"START RequestId: {self._request_id} Version: {self._function.version}")

    def lines(self, output: bytes) -> None:
        """Write the function's output."""
        for line in output.splitlines():  # those of a text also end at U+2028 and others
            self._write(line.decode("utf-8", "replace"))

    def report(self, taken_s: float, init_s: float, memory_mb: object) -> None:
        """Write the last lines of a call.

        Args:
            taken_s: How long the call took.
            init_s: How long the start of its process took; 0 for a warm one.
            memory_mb: The peak memory of the process in MB; None if unknown.
        """
        self._write(f"END RequestId: {self._request_id}")
        parts = [
            f"REPORT RequestId: {self._request_id}",
            f"Duration: {1000 * taken_s:.2f} ms",
            f"Billed Duration: {max(1, round(1000 * (taken_s + init_s)))} ms",
            f"Memory Size: {self._function.memory_mb} MB",
            *([f"Max Memory Used: {memory_mb} MB"] if isinstance(memory_mb, int) else []),
            *([f"Init Duration: {1000 * init_s:.2f} ms"] if init_s else []),
        ]
        self._write("\t".join(parts))

    def _write(self, line: str) -> None:
        self._lines.append(line)
        moment = int(time.time() * 1000)
        self._sink.write(group=self._group, stream=self._stream, timestamp_ms=moment, message=line)
