"""What holds for all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def swept() -> Iterator[None]:
    """Collect what a file of tests left unclosed at its end: the warning is an error of that file, not of the next."""
    yield
    gc.collect()
