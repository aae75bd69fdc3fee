"""Progress as a bar in a notebook's output, left there as ordinary static HTML when the study is done."""

from __future__ import annotations

import sys
import uuid
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .progress import LogLines, Snapshot
from .theme import LOOKS

if TYPE_CHECKING:
    from .ports import Progress


def choose_progress(title: str = "") -> Progress:
    """A bar where somebody watches a notebook, log lines everywhere else (scripts, cron, papermill, nbconvert)."""
    return NotebookBar(title) if is_watched_notebook() else LogLines()


def is_watched_notebook() -> bool:
    """True in a kernel whose front end can ask its user something.

    JupyterLab allows a cell to ask for input; nbclient (papermill, nbconvert) does not, and that is the only thing by
    which a kernel can tell the two apart.
    """
    # Whoever runs in a kernel has these modules loaded; importing them to find out would cost a script 100 ms.
    ipython = sys.modules.get("IPython")
    if ipython is None or "ipykernel" not in sys.modules:
        return False
    shell: Any = ipython.get_ipython()
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


class NotebookBar:
    """One output that is updated in place: no widget, so it survives export and a closed kernel."""

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._id = f"loom-{uuid.uuid4().hex}"
        self._shown = False

    def update(self, snapshot: Snapshot) -> None:
        self._show(snapshot)

    def finish(self, snapshot: Snapshot) -> None:
        self._show(snapshot)

    def _show(self, snapshot: Snapshot) -> None:
        # IPython's own annotations are incomplete; the kernel has the module loaded.
        display: Any = vars(import_module("IPython.display"))["display"]
        data = {"text/plain": str(snapshot), "text/html": bar_html(snapshot, self._title)}
        display(data, raw=True, display_id=self._id, update=self._shown)
        self._shown = True


def bar_html(snapshot: Snapshot, title: str = "") -> str:
    """The bar as HTML: one stretch for each scenario, as wide as its share of the calls, and the counts in words."""
    total = max(1, sum(snapshot.owed.values()))
    stretches = "".join(
        f'<span style="flex:{owed / total:.4f} 1 0;background:var(--jp-layout-color2,rgba(128,128,128,.18))">'
        f'<span style="display:block;height:100%;width:{100 * snapshot.done.get(scenario, 0) / owed:.1f}%;'
        f'background:{LOOKS[scenario].colour}"></span></span>'
        for scenario, owed in snapshot.owed.items()
        if owed
    )
    heading = f"<strong>{escape(title)}</strong> · " if title else ""
    return (
        f'<div class="mathjax_ignore" role="status" style="font:13px var(--jp-ui-font-family,system-ui,sans-serif)">'
        f'<div aria-hidden="true" style="display:flex;gap:2px;height:6px;max-width:40rem;margin:2px 0 4px">'
        f"{stretches}</div>"
        f"{heading}{escape(str(snapshot))}</div>"
    )
