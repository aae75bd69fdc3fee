"""Progress as one line: in place in a notebook that somebody watches, log records everywhere else."""

from __future__ import annotations

import logging
import sys
import time
import uuid
from html import escape
from importlib import import_module
from typing import Any

_logger = logging.getLogger("loomlib.recall")


class NotebookLine:
    """Told a line, it shows that one, at most every `interval_s` seconds."""

    def __init__(self, interval_s: float = 0.5) -> None:
        self._interval_s, self._said_at = interval_s, float("-inf")
        self._id = f"loom-{uuid.uuid4().hex}"
        self._shown = False

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        watched = _is_watched()
        if now - self._said_at < (self._interval_s if watched else 2.0):
            return
        self._said_at = now
        if not watched:
            _logger.info(line)
            return
        # IPython's own annotations are incomplete; the kernel has the module loaded.
        display: Any = vars(import_module("IPython.display"))["display"]
        style = "font:13px var(--jp-ui-font-family,system-ui,sans-serif);color:var(--jp-ui-font-color2,#616161)"
        html = f'<div class="mathjax_ignore" role="status" style="{style}">{escape(line)}</div>'
        display({"text/plain": line, "text/html": html}, raw=True, display_id=self._id, update=self._shown)
        self._shown = True


def _is_watched() -> bool:
    """True in a kernel whose front end can ask its user something: papermill's cannot."""
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules:
        return False
    shell: Any = ipython.get_ipython()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))
