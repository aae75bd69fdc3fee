"""Right-align numeric columns of tables, headings included, without a script."""

from __future__ import annotations

import html
import re

_TABLE = re.compile(r"<table\b.*?</table>", re.S)
_ROW = re.compile(r"<tr\b[^>]*>.*?</tr>", re.S)
_CELL = re.compile(r"<(?P<tag>t[dh])(?P<attributes>[^>]*)>(?P<content>.*?)(?=</(?P=tag)>)", re.S)
_TAGS = re.compile(r"<[^>]*>")
_NUMBER = re.compile(
    r"[-+−≥≤<>~]?\s*+(?:\d[\d\s,.\u2009\u202f]*+|\.\d++)(?:e[-+]?\d++)?\s*+(?:%|ms|s|min|[kM]?B|calls?)?"
    r"(?:\s*+\[.*\])?"
)
_PHRASE = 24
"""Characters."""
_NO_NUMBER = re.compile(r"(?:–|-|—|nan|NaN|None|NaT|<NA>|n too small.*|not (?:found|measured|asked).*)?")
_INDEX_NAME = re.compile(
    r"<thead>(?P<before>\s*<tr[^>]*>\s*)<th></th>(?P<columns>(?:\s*<th>[^<]*</th>)+\s*</tr>)"
    r"\s*<tr>\s*<th>(?P<name>[^<]+)</th>(?:\s*<th></th>)+\s*</tr>\s*</thead>"
)


def mark_numbers(markup: str) -> str:
    """Add the class `num` to cells of numeric columns, and `phrase` to cells of columns with phrases.

    A column is numeric when one of its cells is a number and every other one is a number or says that there is none.
    Tables with spanning cells are not changed.
    """
    return _TABLE.sub(lambda table: _mark_table(_INDEX_NAME.sub(_one_heading, table[0])), markup)


def _one_heading(head: re.Match[str]) -> str:
    """Move the index's name, which pandas writes in a separate row, to the heading row."""
    return f"<thead>{head['before']}<th>{head['name']}</th>{head['columns']}</thead>"


def _mark_table(table: str) -> str:
    if re.search(r"\b(?:col|row)span=", table) or table.count("<table") > 1:
        return table
    rows = [[(cell["tag"], _plain(cell["content"])) for cell in _CELL.finditer(row)] for row in _ROW.findall(table)]
    width = max(map(len, rows), default=0)
    columns = {column: [row[column] for row in rows if column < len(row)] for column in range(width)}
    classes = {column: "num" for column, cells in columns.items() if _is_numeric(cells)}
    classes |= {column: "phrase" for column, cells in columns.items() if column not in classes and _is_phrases(cells)}

    def mark_row(row: re.Match[str]) -> str:
        column = -1

        def mark_cell(cell: re.Match[str]) -> str:
            nonlocal column
            column += 1
            if column not in classes or "class=" in cell["attributes"]:
                return cell[0]
            return f'<{cell["tag"]} class="{classes[column]}"{cell["attributes"]}>{cell["content"]}'

        return _CELL.sub(mark_cell, row[0])

    return _ROW.sub(mark_row, table) if classes else table


def _is_phrases(column: list[tuple[str, str]]) -> bool:
    """Return whether a cell has more than a few words, which a narrow column would break at every word."""
    return any(tag == "td" and len(text) > _PHRASE for tag, text in column)


def _is_numeric(column: list[tuple[str, str]]) -> bool:
    values = [text for tag, text in column if tag == "td"]
    return any(_NUMBER.fullmatch(text) or text.startswith("n too small") for text in values) and all(
        _NUMBER.fullmatch(text) or _NO_NUMBER.fullmatch(text) for text in values
    )


def _plain(content: str) -> str:
    return html.unescape(_TAGS.sub("", content)).strip()
