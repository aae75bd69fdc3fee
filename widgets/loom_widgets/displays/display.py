"""A display: a small panel for one object in a cell's output; the object is released when no view is open."""

# pyright: basic

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from loomlib.errors import LoomError

from ..kit import Form, Panel, action
from ..kit.panel import WIDGET_VIEW
from .rows import FrameRows, frame_details

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST_TEXT = 200_000
"""Largest number of characters of a text that a view receives."""
PARTS = ("loom_widgets.displays", "parts.js")


class Display(Panel):
    """The interactive view of one object. Subclasses set `called` and `script`, and define `fill()` and actions.

    The content that the view draws first is in `state`, so it is on the page while the kernel still runs the cells
    below. The display holds the object while a page shows it, and after that only a weak reference; its tables are
    dropped.
    """

    parts: ClassVar[tuple[tuple[str, str], ...]] = (PARTS,)

    def __init__(self, value: Any, **options: Any) -> None:
        self._strong_reference: Any = value
        self._weak_reference = weakref.ref(value)
        self._seen_by: set[str] = set()
        self._frames: dict[str, tuple[pd.DataFrame, str]] = {}
        super().__init__(None, **options)  # type: ignore[arg-type]
        if self.comm is not None:
            self.comm.on_close(lambda _message: self.close())
        self._fill()

    @classmethod
    def helps(cls, value: Any) -> bool:
        """Whether an interactive view shows more than the static HTML."""
        return True

    @property
    def value(self) -> Any:
        """The displayed object. Raises `LoomError` if it was released."""
        value = self._weak_reference()
        if value is None:
            raise LoomError("The object of this view no longer exists", on=self.title, try_="run the cell again")
        return value

    def fill(self) -> Mapping[str, Any]:
        """Return the view's initial state; it must be small.

        Tables are filled here too.
        """
        return {}

    def begin(self) -> None:
        """Start background reads, after the initial state is set."""

    def view(self) -> dict[str, Any]:
        """Return the mimebundle part from which a front end draws the view."""
        data, _ = self._repr_mimebundle_()
        return {WIDGET_VIEW: data[WIDGET_VIEW]}

    def static_html(self) -> Markup | str:
        """Return the object's own static HTML."""
        from markupsafe import Markup

        display = getattr(self.value, "_repr_html_", None)
        return Markup(display()) if display is not None else ""  # noqa: S704 -- Loom's own displays escape their texts

    def receive(self, message: Any) -> None:
        """Handle a message from a view; opening and closing a view are messages too."""
        requested = message.get("do") if isinstance(message, Mapping) else None
        if requested not in ("seen", "unseen"):
            super().receive(message)
            return
        view = str(Form(message.get("with") or {}).get("view"))
        if requested == "seen":
            self._seen_by.add(view)
            self._look_again()
        elif view in self._seen_by:
            self._seen_by.discard(view)
            if not self._seen_by:
                self._let_go()

    def close(self) -> None:
        """Close the display and release its object."""
        self._strong_reference = None
        if hasattr(self, "_frames"):
            self._drop()
        super().close()

    # Tables that are DataFrames.

    def put_frame(self, name: str, frame: pd.DataFrame, source: str) -> dict[str, Any]:
        """Store a DataFrame as a table and return the values that the view needs to draw it.

        Args:
            name: The table's name in this display.
            frame: The rows.
            source: Python code that assigns the DataFrame to `table`.
        """
        self._frames[name] = frame, source
        self.tables.put(name, FrameRows(frame))
        return frame_details(name, frame)

    @action(lane="table")
    def filter_rows(self, form: Form) -> Mapping[str, Any]:
        """Filter a table: keep the rows with a text in any column."""
        name, text = form.text("table"), form.text("text").strip()
        frame, source = self._frame(name)
        has = f"has = table.astype(str).apply(lambda each: each.str.contains({text!r}, case=False, regex=False))"
        self.show_code("\n".join([source, *([has, "table[has.any(axis=1)]"] if text else [])]))
        rows = FrameRows(frame).holding(text) if text else FrameRows(frame)
        return {"shown": self.tables.put(name, rows), "of": len(frame)}

    @action(lane="table")
    def row(self, form: Form) -> Mapping[str, Any]:
        """Return one row of a table in full."""
        frame, source = self._frame(form.text("table"))
        place = form.count("at", most=2**53)
        if place >= len(frame):
            raise LoomError("There is no such row", on=str(place), try_="run the cell again")
        self.show_code(f"{source}\ntable.iloc[{place}]")
        return {"cells": FrameRows(frame).whole(place, LONGEST_TEXT)}

    # Internal methods.

    def _frame(self, name: str) -> tuple[pd.DataFrame, str]:
        frame = self._frames.get(name)
        if frame is None:
            raise LoomError("The object of this view no longer exists", on=self.title, try_="run the cell again")
        return frame

    def _look_again(self) -> None:
        value = self._weak_reference()
        if value is not None and self._strong_reference is None and self.comm is not None:
            self._strong_reference = value
            self._fill()

    def _fill(self) -> None:
        self.state = {"asked": {}, **self.fill()}
        self.begin()

    def _let_go(self) -> None:
        self.stop()
        self._strong_reference = None
        self._drop()
        with suppress(Exception):  # the page may have been closed with its view
            self.show(asked={})

    def _drop(self) -> None:
        for name in self._frames:
            self.tables.put(name, ())
        self._frames = {}


def small_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Return a table of a few rows as part of a view's state.

    Args:
        head: The columns' names.
        rows: The rows' cells.
    """
    return {"head": list(head), "rows": [[str(cell) for cell in row] for row in rows]}
