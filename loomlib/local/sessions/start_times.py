"""When the parts of a session's start began and ended, by the clock that all processes of a machine share."""

from __future__ import annotations

import time
from itertools import pairwise

from loomlib.wall_clock import unix_lead_ns

_MAX_MESSAGE_BYTES = 64
_DIGITS = b"0123456789 "

BOOT_PARTS = ("preparation", "boot", "imports", "first_ping")
"""A boot: the folder and the keys; the process, to the first line of the agent's script; the script, to a server that
accepts connections; the answer to the first ping."""

WARM_UP_PART = "warm_up"
"""After the first ping of a boot that replaces a restore: the version's warm-up hook, if it has one."""

RESTORE_PARTS = ("preparation", "restore", "network", "first_ping")
"""A restore: the folder and the keys; the request for a fork, to a process that serves; the session's network, where it
has one of its own; the answer to the first ping."""


class StartTimes:
    """The times of one session's start, which begins when this object is created.

    Times are those of the monotonic clock, in nanoseconds. The process reads the same clock and sends its times over
    the lifeline, so that they do not depend on when the service reads them.

    Attributes:
        kind: "boot" or "restore".
    """

    def __init__(self) -> None:
        self.kind = "boot"
        self._to_unix_ns = unix_lead_ns(time.monotonic_ns)
        self._began_ns = time.monotonic_ns()
        self._asked_ns = self._reachable_ns = self._answered_ns = self._warm_ns = 0
        self._message = b""
        self._of_process: tuple[int, ...] = ()

    @property
    def began_unix_ns(self) -> int:
        """When the start began, as Unix time in nanoseconds."""
        return self._began_ns + self._to_unix_ns

    def note_request(self, kind: str) -> None:
        """Record that the process is about to be started or requested."""
        self.kind, self._asked_ns = kind, time.monotonic_ns()

    def reachable(self) -> None:
        """Record that a restored process runs and has its network."""
        self._reachable_ns = time.monotonic_ns()

    def note_answer(self) -> None:
        """Record that the process has answered its first ping."""
        self._answered_ns = time.monotonic_ns()

    def warmed_up(self) -> None:
        """Record that the warm-up hook has succeeded in the session's own process."""
        self._warm_ns = time.monotonic_ns()

    def on_signal(self, signal: bytes) -> None:
        """Read a byte from the process, which sends its times in one line of decimal numbers."""
        if signal == b"\n":
            message, self._message = self._message, b""
            if message.strip() and not self._of_process:
                self._of_process = tuple(map(int, message.split()))
        elif signal in _DIGITS and len(self._message) < _MAX_MESSAGE_BYTES:
            self._message += signal

    def parts(self) -> dict[str, int]:
        """Return how long each part took, in nanoseconds, in order; empty when the process did not send its times.

        The times are not trusted: times outside the start, or out of order, are ignored.
        """
        names = BOOT_PARTS if self.kind == "boot" else RESTORE_PARTS
        reachable = (max((self._reachable_ns, *self._of_process[:1])),) if self.kind == "restore" else ()
        times = [self._began_ns, self._asked_ns, *self._of_process, *reachable, self._answered_ns]
        if self._warm_ns:
            names, times = (*names, WARM_UP_PART), [*times, self._warm_ns]
        if len(times) != len(names) + 1 or times != sorted(times):
            return {}
        return {name: end - start for name, (start, end) in zip(names, pairwise(times), strict=True)}
