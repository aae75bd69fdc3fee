"""Progress as one line: in place in a notebook that somebody watches, log records everywhere else."""

from __future__ import annotations

import logging
import time

from loomlib.jobs import InPlace, is_watched_notebook

_logger = logging.getLogger("loomlib.memory_study")


class NotebookLine:
    """Told a line, it shows that one, at most every `interval_s` seconds."""

    def __init__(self, interval_s: float = 0.5) -> None:
        self._interval_s, self._said_at = interval_s, float("-inf")
        self._place = InPlace()

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        watched = is_watched_notebook()
        if now - self._said_at < (self._interval_s if watched else 2.0):
            return
        self._said_at = now
        if not watched:
            _logger.info(line)
            return
        self._place.show_line(line)
