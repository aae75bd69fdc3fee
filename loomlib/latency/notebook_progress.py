"""Progress as a bar in a notebook's output, left there as ordinary static HTML when the study is done."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from loomlib.jobs import InPlace, is_watched_notebook

from .progress import LogLines, Snapshot
from .theme import LOOKS

if TYPE_CHECKING:
    from .ports import Progress


def choose_progress(title: str = "") -> Progress:
    """A bar where somebody watches a notebook, log lines everywhere else (scripts, cron, papermill, nbconvert)."""
    return NotebookBar(title) if is_watched_notebook() else LogLines()


class NotebookBar:
    """The bar, changed in place (see `InPlace`)."""

    def __init__(self, title: str = "") -> None:
        self._title, self._place = title, InPlace()

    def update(self, snapshot: Snapshot) -> None:
        self._place.show(str(snapshot), bar_html(snapshot, self._title))

    def finish(self, snapshot: Snapshot) -> None:
        self.update(snapshot)


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
