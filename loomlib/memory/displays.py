"""How memory's findings are shown: escaped static HTML and plain text; every cell is a stranger's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..redaction import KNOWN_FORMS, Redactor

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS: Final = 50
_KEYS: Final = Redactor(KNOWN_FORMS)
_SHOWN_CHARACTERS: Final = 400
_TEXT_CHARACTERS: Final = 60


def html_table(title: str, note: str, head: Sequence[str], rows: Iterable[Sequence[Any]], more: int = 0) -> str:
    """A table, with what is said before it."""
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell_text(each))}</td>' for each in row)}</tr>" for row in rows)
    said = f"<p>{escape(note)}</p>" if note else ""
    left = f"<p>… {more:,} more rows</p>" if more > 0 else ""
    table = f'<div style="overflow-x:auto"><table><tr>{names}</tr>{body}</table></div>' if body else ""
    return f'<div class="mathjax_ignore"><p><strong>{escape(title)}</strong></p>{said}{table}{left}</div>'


def cell_text(value: Any) -> str:
    """A value for a reader: cut when long, `–` for nothing, times to the second."""
    if value is None or value != value or value == "":
        return "–"
    if hasattr(value, "strftime"):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    plain = "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return plain if len(plain) <= _SHOWN_CHARACTERS else f"{plain[: _SHOWN_CHARACTERS - 1]}…"


def html_rows(title: str, note: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The first of the rows as a table."""
    shown = [[row.get(name) for name in columns] for row in rows[:SHOWN_ROWS]]
    return html_table(title, note, columns, shown, len(rows) - len(shown))


def text_rows(title: str, note: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """The same as aligned text."""
    lines = [title, *([note] if note else [])]
    shown = [[_short(row.get(name)) for name in columns] for row in rows[:SHOWN_ROWS]]
    if shown:
        widths = [max(len(name), *(len(row[at]) for row in shown)) for at, name in enumerate(columns)]
        for row in (list(columns), *shown):
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(rows) > len(shown):
        lines.append(f"… {len(rows) - len(shown):,} more rows")
    return "\n".join(lines)


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """The rows as a DataFrame with these columns, also where there are none."""
    from loomlib.presentation.text_frame import TextFrame

    return TextFrame([[row.get(name) for name in columns] for row in rows], columns=list(columns))


def safe_id(text: str) -> str:
    """An id, actor or namespace without what has the form of a key; that it looks random alone is an id's nature."""
    return _KEYS.redact(text).text


def _short(value: Any) -> str:
    text = " ".join(cell_text(value).split())
    return text if len(text) <= _TEXT_CHARACTERS else f"{text[: _TEXT_CHARACTERS - 1]}…"
