"""How long the service runs: until it is stopped, or until the last lease on it has ended."""

from __future__ import annotations

import asyncio

_FIRST_LEASE_WITHIN_S = 30.0
_LEASE_AFTER_PING_S = 2.0


class ServiceLeases:
    """Counts the open leases; `ended` is set when the service should stop.

    A persistent service ignores leases. A service that is not persistent stops some time after the last lease ended, so
    that a notebook can reconnect.

    Args:
        persistent: Whether the service runs until it is stopped.
        linger_s: Seconds between the end of the last lease and the end of the service.
    """

    def __init__(self, *, persistent: bool, linger_s: float = 2.0) -> None:
        self.ended = asyncio.Event()
        self._persistent, self._linger_s, self._open = persistent, linger_s, 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_new = True
        self._stop_in(_FIRST_LEASE_WITHIN_S)

    @property
    def is_persistent(self) -> bool:
        """Whether the service runs until it is stopped."""
        return self._persistent

    def persist(self) -> None:
        """Keep the service running until it is stopped."""
        self._persistent = True
        self._cancel_stop()

    def linger(self) -> bool:
        """Return whether the service keeps running, and if so, delay its end so that the caller can take a lease."""
        if self.ended.is_set():
            return False
        if self._open == 0 and not self._persistent:
            self._cancel_stop()
            self._stop_in(_FIRST_LEASE_WITHIN_S if self._is_new else max(_LEASE_AFTER_PING_S, self._linger_s))
        return True

    def opened(self) -> None:
        """Count a new lease."""
        self._open += 1
        self._is_new = False
        self._cancel_stop()

    def closed(self) -> None:
        """Record the end of a lease."""
        self._open -= 1
        if self._open == 0:
            self._stop_in(self._linger_s)

    def _stop_in(self, within_s: float) -> None:
        if not self._persistent:
            self._timer = asyncio.get_running_loop().call_later(within_s, self.ended.set)

    def _cancel_stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
