"""Numbers that are hard to write: the tests of every surface that shows numbers print all of them."""

from __future__ import annotations

VALUES = [
    0, -0.0, 0.0004, 0.00049, 0.0423, 0.9996, 0.995, 2.25, 9.996, 99.96, 999.4, 999.5, 999.95, 2345.6, 12345,
    59_960, 1e6, 4_320_000, 1e-9, 4.2e-5, -3.2, -800, 1.25e20, float("nan"), None, float("inf"), float("-inf"),
]  # fmt: skip
DRAWN = [value for value in VALUES if value is not None and abs(value) < 1e15]
"""Those that a chart can draw."""
