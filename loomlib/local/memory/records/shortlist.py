"""A shortlist of vectors by their strongest directions, so that a question is compared with only a few of them.

Vectors are rotated so that their strongest directions come first, and the other directions can add at most the product
of the lengths of the two remainders to a dot product (Cauchy–Schwarz). A vector that stays below the k-th best even
with that addition is not among the nearest, so the nearest vectors are exact.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

GATHERED_SHARE: Final = 0.2
"""Below it the rows in question are copied together; above it the whole matrix is multiplied."""

_DIRECTIONS = 64
_SAMPLED = 8_192
_BLOCK = 256
_TOLERANCE = 1e-5  # float32 sums in another order differ by less
_LARGEST_SHARE = 0.1  # above it, comparing all rows is as fast

_Matrix: TypeAlias = NDArray[np.float32]
_Mask: TypeAlias = NDArray[np.bool_]
_Scores: TypeAlias = NDArray[np.floating[Any]]


class Shortlist:
    """The strongest directions of `vectors`, row by row; recomputed when the number of rows has doubled."""

    def __init__(self, vectors: _Matrix) -> None:
        sample = vectors[:: max(1, len(vectors) // _SAMPLED)]
        # The eigenvalues of eigh ascend: the last columns are the strongest directions.
        rotation = np.linalg.eigh(sample.T @ sample)[1]
        self._directions = np.ascontiguousarray(rotation[:, -_DIRECTIONS:], dtype=np.float32)
        self._projections = vectors @ self._directions
        self._rest = _rest(vectors, self._projections)

    def put(self, row: int, vector: _Matrix) -> None:
        """Update the row of a vector that changed."""
        self._projections[row] = vector @ self._directions
        self._rest[row] = _rest(vector, self._projections[row])

    def approximate(self, question: _Matrix, rows: NDArray[np.intp], size: int) -> _Scores:
        """Return approximate cosines of some of the first `size` rows, computed from the strongest directions.

        Args:
            question: The question's vector.
            rows: Indices of the rows to compare.
            size: Number of rows in use.

        Returns:
            One value for each of `rows`, in their order.
        """
        projected = question @ self._directions
        if rows.size < size * GATHERED_SHARE:
            return self._projections[rows] @ projected
        cosines = self._projections[:size] @ projected
        return cosines if rows.size == size else cosines[rows]

    def rows(self, vectors: _Matrix, question: _Matrix, wanted: _Mask, k: int) -> NDArray[np.intp] | None:
        """Return the `wanted` rows that may be among the `k` nearest, ties included; None if there are too many.

        Args:
            vectors: The whole matrix.
            question: A unit vector.
            wanted: A mask that selects the rows to search.
            k: The number of nearest rows.
        """
        size = len(wanted)
        projected = question @ self._directions
        reach = self._projections[:size] @ projected
        reach += self._rest[:size] * _rest(question, projected)
        reach[~wanted] = -np.inf
        # The best of each block stand for the best of all: they are k real rows, so the threshold is never too high.
        whole = size // _BLOCK * _BLOCK
        tops = reach[:whole].reshape(-1, _BLOCK).argmax(axis=1) + np.arange(0, whole, _BLOCK)
        tops = tops[reach[tops] > -np.inf]
        if tops.size < k:
            return None
        scores = np.partition(vectors[tops] @ question, tops.size - k)
        rows = np.flatnonzero(reach >= scores[tops.size - k] - _TOLERANCE)
        return rows if rows.size <= max(_BLOCK, size * _LARGEST_SHARE) else None


def _rest(vectors: _Matrix, projected: _Matrix) -> _Matrix:
    """Return the lengths of the components outside the strongest directions."""
    return np.sqrt(np.maximum(0, (vectors**2).sum(axis=-1) - (projected**2).sum(axis=-1)))
