"""Which of many vectors can be among the nearest to a question, told by a quarter of their numbers.

Vectors are turned so that their strongest directions come first. What the directions left out can add to a product is
at most the product of the two rests' lengths (Cauchy–Schwarz): a vector that stays below the k-th best even with that
is none of the nearest. So nothing is lost, and a fourth of the memory is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEPT = 64
_SAMPLED = 8_192
_BLOCK = 256
_SLACK = 1e-5  # float32's sums differ by less, whatever their order
_MOST_SHARE = 0.1  # above it the comparison of all is as fast


class Shortlist:
    """The kept directions of `vectors`, row by row; made anew when there are twice as many."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        sample = vectors[:: max(1, len(vectors) // _SAMPLED)]
        # eigh's eigenvalues ascend: the last columns are the strongest directions.
        turned = np.linalg.eigh(sample.T @ sample)[1]
        self._directions = np.ascontiguousarray(turned[:, -_KEPT:], dtype=np.float32)
        self._kept = vectors @ self._directions
        self._rest = _rest(vectors, self._kept)

    def put(self, row: int, vector: NDArray[np.float32]) -> None:
        """The vector of a row has changed."""
        self._kept[row] = vector @ self._directions
        self._rest[row] = _rest(vector, self._kept[row])

    def rows(
        self, vectors: NDArray[np.float32], question: NDArray[np.float32], asked: NDArray[np.bool_], k: int
    ) -> NDArray[np.intp] | None:
        """The rows among `asked` that may be one of the `k` nearest, ties included; None when it are too many."""
        size = len(asked)
        kept = question @ self._directions
        reach = self._kept[:size] @ kept
        reach += self._rest[:size] * _rest(question, kept)
        reach[~asked] = -np.inf
        # The best of each block stand for the best of all: k real rows, so no threshold is too high.
        whole = size // _BLOCK * _BLOCK
        tops = reach[:whole].reshape(-1, _BLOCK).argmax(axis=1) + np.arange(0, whole, _BLOCK)
        tops = tops[reach[tops] > -np.inf]
        if tops.size < k:
            return None
        scores = np.partition(vectors[tops] @ question, tops.size - k)
        found = np.flatnonzero(reach >= scores[tops.size - k] - _SLACK)
        return found if found.size <= max(_BLOCK, size * _MOST_SHARE) else None


def _rest(vectors: NDArray[np.float32], kept: NDArray[np.float32]) -> NDArray[np.float32]:
    """The lengths of what the kept directions leave out."""
    return np.sqrt(np.maximum(0, (vectors**2).sum(axis=-1) - (kept**2).sum(axis=-1)))
