"""A DataFrame with a title and a note, displayed as escaped HTML.

It is a separate module because pandas is only imported when a table is created.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..memory.displays import SHOWN_ROWS, html_table
from ..presentation.text import text_table


class MemoryFrame(pd.DataFrame):
    """A table of a memory's contents; filtering or joining it returns a plain DataFrame."""

    def titled(self, title: str, note: str = "") -> MemoryFrame:
        """Set title and note (stored in `attrs`), and return this table."""
        self.attrs.update({"title": title, "note": note})
        return self

    @property
    def title(self) -> str:
        """The title."""
        return str(self.attrs.get("title", ""))

    @property
    def note(self) -> str:
        """The note, or what to do when there are no rows."""
        return str(self.attrs.get("note", ""))

    def __repr__(self) -> str:
        lines = [self.title, self.note]
        if len(self):
            rows, more = self._shown_rows()
            lines.append(text_table([str(column) for column in self.columns], rows, more=more))
        return "\n".join(filter(None, lines))

    def html(self) -> str:
        """Render the first rows as static HTML; all text is escaped."""
        rows, more = self._shown_rows()
        return html_table(self.title, self.note, [str(column) for column in self.columns], rows, more)

    def _repr_html_(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.html()

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _shown_rows(self) -> tuple[list[tuple[Any, ...]], int]:
        """Return the first rows, and how many more there are."""
        rows = list(self.head(SHOWN_ROWS).itertuples(index=False, name=None))
        return rows, len(self) - len(rows)
