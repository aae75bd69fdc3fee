"""Rotation of log lines: the newest bytes of each stream, and of all streams together, are kept."""

from __future__ import annotations

from collections.abc import Sequence

STREAM_BYTES = 32 << 20
"""Bytes of one stream's lines that are kept; AWS keeps all lines, but not on this machine's disk."""

TOTAL_BYTES = 256 << 20
"""Bytes of all streams' lines that are kept."""

_LINE_BYTES = 200  # overhead of a line in addition to its text
_KEPT_SHARE = 0.75  # what a rotation leaves, so that not every line is followed by another rotation

StreamKey = tuple[str, str]


class Rotation:
    """Counts the bytes of streams and chooses how many of their oldest lines are dropped."""

    def __init__(self) -> None:
        self._bytes: dict[StreamKey, int] = {}

    def count(self, stream: StreamKey, messages: Sequence[str]) -> None:
        """Count lines added to a stream."""
        self._bytes[stream] = self._bytes.get(stream, 0) + sum(map(_cost, messages))

    def add(self, stream: StreamKey, size_bytes: int) -> None:
        """Count bytes that a stream has received; `surplus` counts them again, line by line."""
        self._bytes[stream] = self._bytes.get(stream, 0) + size_bytes

    def forget(self, stream: StreamKey) -> None:
        """Forget a stream that was deleted."""
        self._bytes.pop(stream, None)

    def overfull(self) -> StreamKey | None:
        """Return a stream whose oldest lines should be dropped: one above its limit, or the largest of too many."""
        beyond = next((stream for stream, size in self._bytes.items() if size > STREAM_BYTES), None)
        if beyond is None and sum(self._bytes.values()) > TOTAL_BYTES:
            return max(self._bytes, key=self._bytes.__getitem__)
        return beyond

    def surplus(self, stream: StreamKey, messages: Sequence[str]) -> int:
        """Return how many of a stream's oldest lines to drop, and subtract them from the counts.

        Args:
            stream: The stream.
            messages: All its lines, the oldest first.
        """
        size = sum(map(_cost, messages))
        goal = min(STREAM_BYTES, size) * _KEPT_SHARE
        dropped = 0
        while dropped < len(messages) and size > goal:
            size -= _cost(messages[dropped])
            dropped += 1
        self._bytes[stream] = size
        return dropped


def _cost(message: str) -> int:
    return len(message) + _LINE_BYTES
