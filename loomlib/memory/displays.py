"""Tables of a memory as escaped static HTML and plain text; all cells are untrusted text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..presentation.formats import cell
from ..presentation.html import fragment
from ..presentation.text import printable, text_table
from ..redaction import KNOWN_FORMS, Redactor

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS: Final = 50
_KEYS: Final = Redactor(KNOWN_FORMS)
_CELL_CHARACTERS: Final = 400


class TableReport(ABC):
    """A result displayed as a title, a note and a table, with a DataFrame, a plain text and an HTML form."""

    __slots__ = ()
    columns: ClassVar[Sequence[str]]
    text_columns: ClassVar[Sequence[str]] = ()
    """Columns of the plain text, when it has fewer."""
    html_columns: ClassVar[Sequence[str]] = ()
    """Columns of the HTML, when it has fewer."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The title."""

    @abstractmethod
    def note(self) -> str:
        """Return the sentence between title and table."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, each with a value for every column."""

    def frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame."""
        from loomlib.presentation.text_frame import TextFrame

        return TextFrame([[row.get(name) for name in self.columns] for row in self.rows()], columns=list(self.columns))

    def __repr__(self) -> str:
        columns, lines = self.text_columns or self.columns, [self.title, *filter(None, [self.note()])]
        if visible := (rows := self.rows())[:SHOWN_ROWS]:
            values = [[row.get(name) for name in columns] for row in visible]
            lines.append(text_table(columns, values, more=len(rows) - len(visible)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns, rows = self.html_columns or self.columns, self.rows()
        values = [[row.get(name) for name in columns] for row in rows[:SHOWN_ROWS]]
        return html_table(self.title, self.note(), columns, values, len(rows) - len(values))


def html_table(title: str, note: str, head: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """Render a table as HTML.

    Args:
        title: Title above the table.
        note: Paragraph between title and table; none when empty.
        head: Column names.
        rows: Rows, formatted as `cell_text` does.
        more: How many rows are left out; named below the table.
    """
    cells = [[cell_text(value) for value in row] for row in rows]
    return str(fragment("loomlib.memory:table.html.j2", title=title, note=note, head=head, rows=cells, more=more))


def cell_text(value: Any) -> str:
    """Format a value as `formats.cell` does, without control characters and with long texts cut."""
    text = printable(cell(value))
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"


def safe_id(text: str) -> str:
    """Redact known forms of keys in an id, actor or namespace.

    Only known forms: ids look random by nature, so that alone does not make one a secret.
    """
    return _KEYS.redact(text).text
