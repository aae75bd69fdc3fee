"""How long the service lives: until it is stopped, or until nobody who needs it is left."""

from __future__ import annotations

import asyncio

_FIRST_LEASE_WITHIN_S = 30.0
_LINGER_S = 2.0


class Leases:
    """Counts the open leases; `ended` is set when the service should end.

    A persistent service ignores leases. Another ends 2 s after the last one is gone, so that a notebook may reconnect.
    """

    def __init__(self, *, persistent: bool) -> None:
        self.ended = asyncio.Event()
        self._persistent, self._open = persistent, 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_new = True
        self._expect(_FIRST_LEASE_WITHIN_S)

    @property
    def is_persistent(self) -> bool:
        return self._persistent

    def persist(self) -> None:
        """From now on live until stopped."""
        self._persistent = True
        self._forget()

    def linger(self) -> bool:
        """Whether the service lives on; then also for long enough that who asks can take a lease."""
        if self.ended.is_set():
            return False
        if self._open == 0 and not self._persistent:
            self._forget()
            self._expect(_FIRST_LEASE_WITHIN_S if self._is_new else _LINGER_S)
        return True

    def opened(self) -> None:
        self._open += 1
        self._is_new = False
        self._forget()

    def closed(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._expect(_LINGER_S)

    def _expect(self, within_s: float) -> None:
        if not self._persistent:
            self._timer = asyncio.get_running_loop().call_later(within_s, self.ended.set)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
