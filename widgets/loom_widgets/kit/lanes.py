"""Lanes: queues of jobs beside the kernel's main thread. A lane has a thread only while it has jobs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock, Thread, current_thread

from .actions import Cancel

Job = Callable[[Cancel], None]


class Lanes:
    """The lanes of one panel; `changed` is called when a job begins or ends. Jobs must catch their exceptions."""

    def __init__(self, name: str, changed: Callable[[], None] = lambda: None) -> None:
        self._name, self._changed = name, changed
        self._lock = Lock()
        self._waiting: dict[str, deque[tuple[Job, Cancel]]] = {}
        self._running: dict[str, tuple[Thread, Cancel]] = {}
        self._closed = False

    def add(self, lane: str, job: Job) -> bool:
        """Queue a job in its lane; return False when the panel is closed."""
        with self._lock:
            if self._closed:
                return False
            self._waiting.setdefault(lane, deque()).append((job, Cancel()))
            if lane not in self._running:
                thread = Thread(target=self._run, args=(lane,), name=f"loom-{self._name}-{lane}", daemon=True)
                self._running[lane] = thread, Cancel()
                thread.start()
        self._changed()
        return True

    def stop(self, lane: str | None = None) -> bool:
        """Cancel the running and queued jobs of a lane (or of all lanes); return True when there were any."""
        with self._lock:
            chosen = [*self._running] if lane is None else [lane]
            tokens = [self._running[item][1] for item in chosen if item in self._running]
            tokens += [cancel for item in chosen for _, cancel in self._waiting.get(item, ())]
        for token in tokens:
            token.set()
        return bool(tokens)

    @property
    def busy(self) -> tuple[str, ...]:
        """The lanes with a running or queued job."""
        with self._lock:
            return tuple(sorted(self._running))

    @property
    def is_closed(self) -> bool:
        """Whether the lanes reject new jobs."""
        return self._closed

    def close(self, *, wait_s: float = 2.0) -> None:
        """Cancel all jobs, reject new ones, and wait briefly for the threads to end."""
        with self._lock:
            self._closed = True
            threads = [thread for thread, _ in self._running.values()]
        self.stop()
        for thread in threads:
            if thread.is_alive() and thread is not current_thread():
                thread.join(wait_s)

    def _run(self, lane: str) -> None:
        while True:
            with self._lock:
                waiting = self._waiting[lane].popleft() if self._waiting.get(lane) else None
                if waiting is None:
                    del self._running[lane]
                else:
                    self._running[lane] = self._running[lane][0], waiting[1]
            if waiting is None:
                self._changed()
                return
            job, cancel = waiting
            job(cancel)
