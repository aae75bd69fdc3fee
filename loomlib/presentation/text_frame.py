"""A DataFrame whose cells stay text in a notebook, and whose texts stand at the left.

pandas escapes markup, but lets JupyterLab set `$…$` as formulas, with the links and colours that a stranger's text asks
for; two prices in a row become one as well. It also sets all cells of a table at the right, which suits only numbers.

It is a module of its own because pandas is only imported when a table is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import pandas as pd

_ROW = re.compile(r"<tr\b.*?</tr>", re.S)
_CELL = re.compile(r"<(t[dh])>")
_LEFT = ' style="text-align: left"'


class TextFrame(pd.DataFrame):
    """A DataFrame with untrusted texts; frames derived from it are displayed the same way."""

    def _repr_html_(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        with pd.option_context("display.html.use_mathjax", False):
            html = cast("str | None", super()._repr_html_())  # type: ignore[operator]
        is_text = [not pd.api.types.is_numeric_dtype(dtype) for dtype in self.dtypes]
        return html if html is None else _ROW.sub(lambda row: _with_texts_left(row[0], is_text), html)

    @property
    def _constructor(self) -> Any:
        return TextFrame


def _with_texts_left(row: str, is_text: Sequence[bool]) -> str:
    """Return a table row of pandas with its text cells at the left; a row with other cells than columns stays as it is.

    Cells are escaped, so no text contains a tag.
    """
    tags = _CELL.findall(row)
    headings = len(tags) - len(is_text)  # of the index
    if headings < 0 or "td" in tags[:headings] or ("td" in tags and "th" in tags[headings:]):
        return row
    aligned = iter([False] * headings + list(is_text))
    return _CELL.sub(lambda tag: f"<{tag[1]}{_LEFT if next(aligned) else ''}>", row)
