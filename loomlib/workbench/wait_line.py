"""Progress of a wait: a line updated in place in a notebook, log records everywhere else."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Final

from ..jobs import InPlace, is_interactive_notebook

_log = logging.getLogger(__name__)

_ELAPSED: Final = re.compile(r"[^·,]+ of at most")
"""The part of a line that changes with every lookup."""


class WaitLine:
    """Shows the progress of a wait that lasts longer than `quiet_s`.

    A log gets a line for each change, and one every `again_s` seconds while nothing changes.
    """

    def __init__(
        self, quiet_s: float = 1.0, again_s: float = 10.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet_s, self._again_s, self._clock = quiet_s, again_s, clock
        self._began = clock()
        self._place = InPlace()
        self._displayed_state, self._shown_at = "", self._began

    def __call__(self, line: str) -> None:
        """Show a line of progress."""
        now = self._clock()
        if now - self._began < self._quiet_s:
            return
        if not is_interactive_notebook():
            state = _ELAPSED.sub("", line)
            if state != self._displayed_state or now - self._shown_at >= self._again_s:
                self._displayed_state, self._shown_at = state, now
                _log.info(line)
            return
        self._place.show_line(line)
