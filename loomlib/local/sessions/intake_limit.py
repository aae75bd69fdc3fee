"""Limits how much of a session's output becomes log events, by a token bucket."""

from __future__ import annotations

import time

BURST_BYTES = 16 << 20
"""Bytes that a session may write at once."""

BYTES_PER_S = 2 << 20
"""Bytes a second that a session may write in the long run; CloudWatch Logs took five requests of 1 MB a second."""

_LINE_BYTES = 200  # what a line costs beside its text, in memory and in time

NOTICE_EVERY_S = 1.0
"""Minimum time between two notices of dropped output, in seconds."""


class IntakeLimit:
    """Counts a session's output and how much of it was dropped."""

    def __init__(self) -> None:
        self._bytes_left = float(BURST_BYTES)
        self._counted_at = time.monotonic()
        self._dropped_lines = self._dropped_bytes = 0
        self._noticed_at = float("-inf")

    @property
    def exhausted(self) -> bool:
        """Whether output is being dropped; it is until a sixteenth of the burst is available again."""
        now = time.monotonic()
        self._bytes_left = min(BURST_BYTES, self._bytes_left + (now - self._counted_at) * BYTES_PER_S)
        self._counted_at = now
        return self._bytes_left <= (BURST_BYTES / 16 if self._dropped_bytes else 0)

    def count(self, data: bytes) -> None:
        """Count output that becomes log events."""
        self._bytes_left -= len(data) + _LINE_BYTES * (data.count(b"\n") + 1)

    def drop(self, data: bytes) -> None:
        """Count output that is dropped."""
        self._dropped_lines += data.count(b"\n")
        self._dropped_bytes += len(data)

    def take_notice(self, *, final: bool = False) -> str | None:
        """Return a sentence on what was dropped since the last notice; None when none is due.

        Args:
            final: Whether the output has ended.
        """
        now = time.monotonic()
        if not self._dropped_bytes or (not final and now - self._noticed_at < NOTICE_EVERY_S):
            return None
        dropped, self._noticed_at = (self._dropped_lines, self._dropped_bytes), now
        self._dropped_lines = self._dropped_bytes = 0
        return (
            f"Loom: {dropped[0]:,} lines with {dropped[1]:,} bytes were dropped here: a session may write "
            f"{BURST_BYTES >> 20} MiB at once and {BYTES_PER_S >> 20} MiB a second"
        )
