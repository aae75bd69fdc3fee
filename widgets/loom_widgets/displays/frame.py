"""A table: sorted, filtered and paged in the kernel."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from loomlib.presentation.formats import plural

from .display import Display
from .rows import flat

FEW_ROWS = 10
"""Number of rows up to which the static table is shown instead of a view."""


class FrameDisplay(Display):
    """A DataFrame as a paged, sortable table."""

    called: ClassVar[str] = "Table"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "frame.js")

    @classmethod
    def helps(cls, value: Any) -> bool:
        """Whether there is something to scroll, sort or filter."""
        return len(value) > FEW_ROWS and value.shape[1] > 0

    def fill(self) -> Mapping[str, Any]:
        """Return the first rows."""
        frame = self.value
        self.title = str(frame.attrs.get("title") or self.called)
        rows, columns = frame.shape
        table = self.put_frame("rows", flat(frame), "# table: the DataFrame that this cell shows")
        size = f"{plural(rows, 'row')}, {plural(columns, 'column')}"
        return {"size": size, "note": str(frame.attrs.get("note", "")), "frame": table}
