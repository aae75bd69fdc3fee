"""Semantic search over the tools of a gateway, with the vectors of Loom's local memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...embeddings import embed

_FOUND: Final = 10
_REMEMBERED: Final = 10_000


class ToolSearch:
    """Finds tools by meaning; the vectors of their descriptions are cached."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[str, Any] = OrderedDict()
        self._using = threading.Lock()

    def nearest(self, query: str, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the tools that match a query best, the best first.

        Args:
            query: What the tool should do.
            entries: Tools as `tools/list` shows them.
        """
        import numpy as np

        texts = [_text(entry) for entry in entries]
        with self._using:
            missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            vectors = embed([query, *missing])
            self._vectors.update(zip(missing, vectors[1:], strict=True))
            scores = [float(np.dot(vectors[0], self._vectors[text])) for text in texts]
            while len(self._vectors) > _REMEMBERED:
                self._vectors.popitem(last=False)
        order = sorted(range(len(entries)), key=lambda number: -scores[number])
        return [entries[number] for number in order[:_FOUND]]


def _text(entry: Mapping[str, Any]) -> str:
    words = str(entry["name"]).replace("_", " ").replace("-", " ")
    return f"{words}. {entry.get('description', '')}"
