"""A DataFrame whose cells stay text in a notebook.

pandas escapes markup, but lets JupyterLab set `$…$` as formulas, with the links and colours that a stranger's text asks
for; two prices in a row become one as well.

It is a module of its own because pandas is only imported when a table is made.
"""

from __future__ import annotations

from typing import Any

import pandas as pd


class TextFrame(pd.DataFrame):
    """A DataFrame whose texts come from users or agents, and every frame derived from it."""

    def _repr_html_(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        with pd.option_context("display.html.use_mathjax", False):
            return super()._repr_html_()  # type: ignore[no-any-return, operator]

    @property
    def _constructor(self) -> Any:
        return TextFrame
