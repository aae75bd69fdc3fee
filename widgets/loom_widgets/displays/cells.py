"""Tracks which cell shows which views: running a cell again removes its old output and closes its views."""

# pyright: basic

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .display import Display


class Cells:
    """The views of each cell, by the front end's cell id."""

    def __init__(self) -> None:
        self._now: str | None = None
        self._displays: dict[str, list[Display]] = {}

    def begin(self, info: Any) -> None:
        """Close the views of a cell's previous run. IPython calls this before it runs a cell (`pre_run_cell`)."""
        self._now = getattr(info, "cell_id", None)
        for display in self._displays.pop(self._now, ()) if self._now else ():
            display.close()

    def add(self, display: Display) -> None:
        """Record that the running cell shows a display.

        A front end whose cells have no ids does not report that a cell was removed.
        """
        if self._now:
            self._displays.setdefault(self._now, []).append(display)
