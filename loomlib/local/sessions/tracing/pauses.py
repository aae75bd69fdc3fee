"""Full garbage collections of the agent's process, which stop all its threads.

CPython 3.11 collects its oldest generation when ten younger collections have passed and what is new there exceeds a
quarter of what is old (`Modules/gcmodule.c`, `gc_collect_generations`). An agent made of Strands and boto3 has about
114,000 tracked objects after its first invocation, and comes to that point in the second one of each session.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Mapping
from time import monotonic_ns
from typing import Protocol

_OLDEST = 2
_SHORTEST_NS = 1_000_000
_MAX_PAUSES = 256


class UnixClock(Protocol):
    """The Unix time of one invocation, in nanoseconds (`spans.InvocationClock`)."""

    arrived_ns: int

    def unix_ns(self, monotonic_ns: int) -> int:
        """Return the time of a reading of the monotonic clock."""
        ...


class Pauses:
    """Recent full garbage collections of at least a millisecond."""

    def __init__(self) -> None:
        self._began_ns = 0
        # Only remembered here: a span could not be made now, because the collection may have interrupted code that
        # holds a lock of a span processor.
        self._pauses: deque[tuple[int, int]] = deque(maxlen=_MAX_PAUSES)
        gc.callbacks.append(self._note)

    def since(self, clock: UnixClock) -> list[tuple[int, int]]:
        """Return the start and the end of each pause since an invocation's arrival, in Unix nanoseconds."""
        pauses = [(clock.unix_ns(start_ns), clock.unix_ns(end_ns)) for start_ns, end_ns in tuple(self._pauses)]
        return [pause for pause in pauses if pause[1] > clock.arrived_ns]

    def _note(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._began_ns = monotonic_ns()
        elif (ended_ns := monotonic_ns()) - self._began_ns >= _SHORTEST_NS:
            self._pauses.append((self._began_ns, ended_ns))
