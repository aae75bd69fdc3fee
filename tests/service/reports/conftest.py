"""A workbench on a local AgentCore of its own, for reports about its agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import loomlib as loom
from loomlib import local


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("reports") / "home"
    with loom.connect(home=home) as opened:
        yield opened
    local.stop(home)
