"""A DataFrame whose cells stay text in a notebook, and whose texts are left-aligned.

pandas escapes markup, but lets JupyterLab render `$…$` as formulas, so untrusted text can add links and colours;
even two prices in a row become a formula. It also right-aligns all cells of a table, which suits only numbers, and
shows times with microseconds and an offset: here they are formatted like `formats.timestamp`. Its limit of 50
characters per cell cuts sentences off: here it is 160, unless the user has set another limit.

It is a separate module because pandas is imported only when a table is created.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import pandas as pd

_ROW = re.compile(r"<tr\b.*?</tr>", re.S)
_CELL = re.compile(r"<(t[dh])>")
_TIME_CELL = re.compile(r"(<t[dh][^>]*>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)?\+00:00(?=</t[dh]>)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\+00:00")
_LEFT = ' style="text-align: left"'
_PANDAS_WIDTH = 50
"""pandas' default of `display.max_colwidth`, in characters."""
_WIDTH = 160


class TextFrame(pd.DataFrame):
    """A DataFrame with untrusted texts; frames derived from it are displayed the same way."""

    def __repr__(self) -> str:
        whole = self.copy(deep=False)
        for place, dtype in enumerate(self.dtypes):
            if pd.api.types.is_datetime64_any_dtype(dtype):
                whole.isetitem(place, self.iloc[:, place].dt.floor("s"))
        # " UTC  " is as wide as the offset, so that the columns stay aligned.
        return _TIME.sub(r"\1 UTC  ", pd.DataFrame.__repr__(whole))

    def _repr_html_(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        width = pd.get_option("display.max_colwidth")
        max_width = _WIDTH if width == _PANDAS_WIDTH else width
        with pd.option_context("display.html.use_mathjax", False, "display.max_colwidth", max_width):
            html = cast("str | None", super()._repr_html_())  # type: ignore[operator]
        is_text = [not pd.api.types.is_numeric_dtype(dtype) for dtype in self.dtypes]
        if html is None:
            return None
        return _TIME_CELL.sub(r"\1 UTC", _ROW.sub(lambda row: _with_texts_left(row[0], is_text), html))

    @property
    def _constructor(self) -> Any:
        return TextFrame


def _with_texts_left(row: str, is_text: Sequence[bool]) -> str:
    """Return a table row of pandas with left-aligned text cells; a row whose cells do not match the columns stays.

    Cells are escaped, so no text contains a tag.
    """
    tags = _CELL.findall(row)
    headings = len(tags) - len(is_text)  # of the index
    if headings < 0 or "td" in tags[:headings] or ("td" in tags and "th" in tags[headings:]):
        return row
    aligned = iter([False] * headings + list(is_text))
    return _CELL.sub(lambda tag: f"<{tag[1]}{_LEFT if next(aligned) else ''}>", row)
