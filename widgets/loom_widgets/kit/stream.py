"""Batches frequent messages: the first item is sent at once, later ones together, to keep the kernel responsive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from types import TracebackType
from typing import Any, Self

INTERVAL_S = 0.033
"""Minimum time between batches in seconds: two frames of a 60 Hz screen."""


class Stream:
    """Sends items in batches; created by `Panel.stream`. Closing it sends the remaining items and ends its thread.

    Examples:
        >>> with self.stream("chunks") as chunks:
        ...     chunks.put({"text": "…"})
    """

    def __init__(self, send: Callable[[Sequence[Any]], None], *, interval_s: float = INTERVAL_S) -> None:
        self._send, self._interval_s = send, interval_s
        self._items: list[Any] = []
        self._changed = Condition()
        self._last = float("-inf")
        self._thread: Thread | None = None
        self._closed = False

    def put(self, item: Any) -> None:
        """Send an item now or with the next batch."""
        with self._changed:
            if self._closed:
                raise ValueError("the stream is closed")
            now = time.monotonic()
            if not self._items and now - self._last >= self._interval_s:
                self._last = now
                self._send([item])
                return
            self._items.append(item)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="loom-stream", daemon=True)
                self._thread.start()
            elif len(self._items) == 1:
                self._changed.notify()

    def close(self) -> None:
        """Send the remaining items."""
        with self._changed:
            self._closed = True
            self._flush()
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                if not self._items:
                    self._changed.wait()
                    continue
                wait_s = self._last + self._interval_s - time.monotonic()
                if wait_s > 0:
                    self._changed.wait(wait_s)
                    continue
                self._flush()

    def _flush(self) -> None:
        if self._items:
            items, self._items = self._items, []
            self._last = time.monotonic()
            self._send(items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
