"""A timer that wakes an event loop within about 50 µs; asyncio's own is up to a millisecond late.

asyncio rounds its waiting up to whole milliseconds (epoll's unit). On Linux this timer is a file descriptor of the
kernel (timerfd, in nanoseconds) that the loop watches like a socket; elsewhere it uses the loop's own timer
to wake slightly early, and then iterates the loop until the time has come.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

_CLOCK_MONOTONIC: Final = 1
_NONBLOCK_CLOEXEC: Final = os.O_NONBLOCK | os.O_CLOEXEC
_ABSOLUTE: Final = 1
_EARLY_NS: Final = 1_500_000
_PR_SET_TIMERSLACK: Final = 29


class ExactTimer(Protocol):
    """Calls a function once at a time of `time.perf_counter_ns`; setting it again replaces the previous time."""

    def set(self, at_ns: int) -> None:
        """Schedule the call at `at_ns`, or immediately if that time has passed."""
        ...

    def close(self) -> None:
        """Stop the timer."""
        ...


def exact_timer(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> ExactTimer:
    """Return the best timer of this machine.

    Args:
        loop: The running loop.
        call: Called on the loop.
    """
    if sys.platform == "linux":
        try:
            return KernelTimer(loop, call)
        except OSError:
            pass  # a container may forbid it
    return SpinningTimer(loop, call)


class KernelTimer:
    """A timerfd; Linux reads `time.perf_counter_ns` from the same clock, CLOCK_MONOTONIC."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._libc: Any = ctypes.CDLL(None, use_errno=True)
        self._loop, self._call = loop, call
        self._file: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        # The kernel may delay a wake-up by 50 µs to join it with others; ask for 1 ns.
        self._libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        loop.add_reader(self._file, self._wake)

    def set(self, at_ns: int) -> None:
        """Schedule the call at `at_ns`, or immediately if that time has passed."""
        value = struct.pack("qqqq", 0, 0, *divmod(max(1, at_ns), 1_000_000_000))
        self._libc.timerfd_settime(self._file, _ABSOLUTE, value, None)

    def close(self) -> None:
        """Stop the timer."""
        self._loop.remove_reader(self._file)
        os.close(self._file)

    def _wake(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:  # it was set again in the same iteration of the loop
            return
        self._call()


class SpinningTimer:
    """The loop's own timer, set early, then iterations of the loop until the time has come."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        self._loop, self._call = loop, call
        self._at_ns = 0
        self._handle: asyncio.Handle | None = None

    def set(self, at_ns: int) -> None:
        """Schedule the call at `at_ns`, or immediately if that time has passed."""
        self.close()
        self._at_ns = at_ns
        early_s = (at_ns - time.perf_counter_ns() - _EARLY_NS) / 1e9
        self._handle = self._loop.call_later(max(0.0, early_s), self._turn)

    def close(self) -> None:
        """Stop the timer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _turn(self) -> None:
        if time.perf_counter_ns() < self._at_ns:
            self._handle = self._loop.call_soon(self._turn)
            return
        self._handle = None
        self._call()
