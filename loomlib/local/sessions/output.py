"""A session's output: one pipe for stdout and stderr, split into lines that go to the log sink."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque

from ..contract import LogSink
from .intake_limit import NOTICE_EVERY_S, IntakeLimit

MAX_EVENT_BYTES = 262_144 - 26
"""CloudWatch Logs: an event has at most 256 KiB, 26 bytes of which are overhead (PutLogEvents)."""

START_LINE = (
    "Connection failed out to container health check (the local AgentCore logs this for each process that "
    "it starts, as AWS does on a cold boot; the process is healthy)"
)
"""AWS's sidecar logs the first words once per cold boot, when its first probe finds no server listening."""

_READ_BYTES = 16_384  # per turn of the event loop, to limit the delay that a flood of output causes for others
_TAIL_LINES, _TAIL_LINE_LENGTH = 20, 4_096
_TAIL_BYTES = 8_192
_LAST_READS = 64  # of 16 KiB each: the capacity of a pipe; a remaining writer must not be read for ever


class SessionOutput:
    """Reads a pipe to its end; `tail` holds the last lines, for error messages.

    One pipe for both streams preserves their order.

    Args:
        fd: The pipe's descriptor, which this object closes.
        sink: Where lines go.
        group: The log group.
        stream: The log stream.
    """

    def __init__(self, fd: int, sink: LogSink, *, group: str, stream: str) -> None:
        self._fd, self._sink, self._group, self._stream = fd, sink, group, stream
        self._rest = bytearray()
        self._limit = IntakeLimit()
        self._in_dropped_line = False
        self._held = b""  # the newest output beyond the limit: dropped when more follows, shown when none does
        self._due: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self.tail: deque[str] = deque(maxlen=_TAIL_LINES)
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._on_readable)

    def note(self, message: str) -> None:
        """Add a line of Loom's own."""
        self._write(message.encode(), int(time.time() * 1000))

    async def finish(self, *, within_s: float) -> None:
        """Wait until all writers have closed the pipe, at most `within_s` seconds; then read the rest and close it."""
        try:
            await asyncio.wait_for(self._ended.wait(), within_s)
        except TimeoutError:
            for _ in range(_LAST_READS):
                if self._fd < 0 or not self._take():
                    break
            self._end()

    def _on_readable(self) -> None:
        self._take()

    def _take(self) -> bool:
        """Read once; return whether more may follow."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self._end()
            return False
        self._feed(data)
        return True

    def _feed(self, data: bytes) -> None:
        now_ms = int(time.time() * 1000)
        if self._limit.exhausted:
            # Without splitting lines: output that is written faster than it is read must not keep the event loop busy.
            self._write_rest()
            held = self._held + data
            self._limit.drop(held[:-_TAIL_BYTES])
            self._held = held[-_TAIL_BYTES:]
            self._in_dropped_line = not data.endswith(b"\n")
            self._show_held_later()
            return
        self._limit.drop(self._held)
        self._held = b""
        if self._in_dropped_line:
            dropped, newline, data = data.partition(b"\n")
            self._limit.drop(dropped + newline)
            self._in_dropped_line = not newline
            self._show_held_later()
        if notice := self._limit.take_notice():
            self._write(notice.encode(), now_ms)
        self._limit.count(data)
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
        self._rest += rest
        for line in lines:
            self._write(line, now_ms)
        while len(self._rest) > MAX_EVENT_BYTES:
            cut = _character_boundary(self._rest, MAX_EVENT_BYTES)
            self._write(bytes(self._rest[:cut]), now_ms)
            del self._rest[:cut]

    def _show_held_later(self) -> None:
        if self._due is None:
            self._due = self._loop.call_later(NOTICE_EVERY_S, self._show_held_if_allowed)

    def _show_held_if_allowed(self) -> None:
        self._due = None
        if self._limit.exhausted:
            self._show_held_later()
        else:
            self._show_held()

    def _show_held(self) -> None:
        """Write how much was dropped, then the held lines: the last output often shows why a process ended or waits."""
        cut_line, newline, rest = self._held.partition(b"\n")
        self._held = b""
        self._limit.drop(cut_line + newline)
        now_ms = int(time.time() * 1000)
        if notice := self._limit.take_notice(final=True):
            self._write(notice.encode(), now_ms)
        if newline:
            self._limit.count(rest)
            *lines, last = rest.split(b"\n")
            for line in lines:
                self._write(line, now_ms)
            self._rest += last
            self._in_dropped_line = False

    def _write(self, line: bytes, now_ms: int) -> None:
        line = line.removesuffix(b"\r")
        if not line:
            return  # CloudWatch Logs rejects empty messages
        while len(line) > MAX_EVENT_BYTES:
            cut = _character_boundary(line, MAX_EVENT_BYTES)
            self._write(line[:cut], now_ms)
            line = line[cut:]
        text = line.decode("utf-8", "replace")
        self.tail.append(text[:_TAIL_LINE_LENGTH])
        self._sink.write(group=self._group, stream=self._stream, timestamp_ms=now_ms, message=text)

    def _end(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1
        if self._due is not None:
            self._due.cancel()
        self._write_rest()
        self._show_held()
        self._write_rest()
        self._ended.set()

    def _write_rest(self) -> None:
        self._write(bytes(self._rest), int(time.time() * 1000))
        self._rest.clear()


def _character_boundary(data: bytes | bytearray, at: int) -> int:
    """Return the largest index up to `at` that does not split a UTF-8 character."""
    cut = at
    while cut > at - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut if data[cut] & 0xC0 != 0x80 else at
