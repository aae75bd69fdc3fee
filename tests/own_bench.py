"""A workbench on a local AgentCore of its own, in a temporary folder: for the `conftest.py` of a folder of tests.

from own_bench import bench, home
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("bench") / "home"
    yield folder
    local.stop(folder)


@pytest.fixture(scope="session")
def bench(home: Path) -> Iterator[loom.Workbench]:
    with loom.connect(home=home) as opened:
        yield opened
