"""Tables of a memory as escaped static HTML and plain text; all cells are untrusted text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..presentation.formats import number
from ..presentation.text import printable
from ..redaction import KNOWN_FORMS, Redactor

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS: Final = 50
_KEYS: Final = Redactor(KNOWN_FORMS)
_CELL_CHARACTERS: Final = 400
_TEXT_CHARACTERS: Final = 60


def html_table(title: str, note: str, head: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """Render a table as HTML.

    Args:
        title: Title above the table.
        note: Paragraph between title and table; none when empty.
        head: Column names.
        rows: Rows, formatted as `cell_text` does.
        more: How many rows are left out; named below the table.
    """
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell_text(value))}</td>' for value in row)}</tr>" for row in rows)
    paragraph = f"<p>{escape(note)}</p>" if note else ""
    rest = f"<p>… {number(more)} more rows</p>" if more > 0 else ""
    table = f'<div style="overflow-x:auto"><table><tr>{names}</tr>{body}</table></div>' if body else ""
    return f'<div class="mathjax_ignore"><p><strong>{escape(title)}</strong></p>{paragraph}{table}{rest}</div>'


def cell_text(value: Any) -> str:
    """Format a value as a cell: long texts are cut, nothing is `–`, times are to the second."""
    if value is None or value != value or value == "":
        return "–"
    if hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    text = printable(f"{value:.3f}" if isinstance(value, float) else str(value))
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"


def html_rows(title: str, note: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Render the first `SHOWN_ROWS` rows as an HTML table."""
    shown = [[row.get(name) for name in columns] for row in rows[:SHOWN_ROWS]]
    return html_table(title, note, columns, shown, len(rows) - len(shown))


def text_rows(title: str, note: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Format the first `SHOWN_ROWS` rows as aligned plain text."""
    lines = [title, *([note] if note else [])]
    shown = [[_short(row.get(name)) for name in columns] for row in rows[:SHOWN_ROWS]]
    if shown:
        widths = [max(len(name), *(len(row[index]) for row in shown)) for index, name in enumerate(columns)]
        for row in (list(columns), *shown):
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(rows) > len(shown):
        lines.append(f"… {number(len(rows) - len(shown))} more rows")
    return "\n".join(lines)


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Build a DataFrame with these columns, also from no rows."""
    from loomlib.presentation.text_frame import TextFrame

    return TextFrame([[row.get(name) for name in columns] for row in rows], columns=list(columns))


def safe_id(text: str) -> str:
    """Redact known forms of keys in an id, actor or namespace.

    Only known forms: ids look random by nature, so that alone does not make one a secret.
    """
    return _KEYS.redact(text).text


def _short(value: Any) -> str:
    text = " ".join(cell_text(value).split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
