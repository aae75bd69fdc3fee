"""What a long wait says for itself: a line in the notebook that changes in place, log records everywhere else."""

from __future__ import annotations

import logging
import time
import uuid
from html import escape
from importlib import import_module
from typing import Any

from ..latency.notebook_progress import is_watched_notebook

_log = logging.getLogger(__name__)


class WaitLine:
    """Told how a wait stands, it shows that; a wait of less than `quiet_s` needs no words."""

    def __init__(self, quiet_s: float = 1.0) -> None:
        self._quiet_s, self._began = quiet_s, time.monotonic()
        self._id = f"loom-{uuid.uuid4().hex}"
        self._shown = False

    def __call__(self, line: str) -> None:
        if time.monotonic() - self._began < self._quiet_s:
            return
        if not is_watched_notebook():
            _log.info(line)
            return
        # IPython's own annotations are incomplete; the kernel has the module loaded.
        display: Any = vars(import_module("IPython.display"))["display"]
        style = "font:13px var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-ui-font-color2,#616161)"
        html = f'<div role="status" style="{style}">{escape(line)}</div>'
        display({"text/plain": line, "text/html": html}, raw=True, display_id=self._id, update=self._shown)
        self._shown = True
