"""Web search in the Tools panel: a question and the pages that were found."""

# pyright: basic

from __future__ import annotations

import time
from typing import Final

from loomlib.errors import LoomError
from loomlib.presentation.formats import milliseconds, plural

from ...kit import Form, PanelPort, action
from ...kit.source import connect_code
from ...kit.texts import short_text

_SHOWN: Final = ("title", "url", "text")


class SearchActions:
    """Searches of the panel's workbench."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel

    @action(lane="search")
    def search_web(self, form: Form) -> None:
        """Search, and show the pages that were found."""
        query = form.text("query").strip()
        if not query:
            raise LoomError("There is nothing to search for", try_="write a question")
        bench = self._panel.bench
        self._panel.show_code(f"{connect_code(bench)}bench.tools.web_search({query!r})")
        began = time.perf_counter()
        results = bench.tools.web_search(query)
        took = milliseconds((time.perf_counter() - began) * 1_000)
        rows = [[short_text(row[name]) for name in _SHOWN] for row in results.to_dict("records")]
        labels = list(bench.context.labels)
        self._panel.show(
            web={"query": short_text(query), "took": took, "head": list(_SHOWN), "rows": rows, "labels": labels}
        )
        self._panel.say(f"{plural(len(rows), 'page')} found in {took}.")
