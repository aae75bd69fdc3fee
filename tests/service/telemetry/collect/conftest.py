"""A workbench on a local AgentCore of its own, and agents that export spans or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import loomlib as loom
from loomlib import local


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[loom.Workbench]:
    home = tmp_path_factory.mktemp("traces") / "home"
    with loom.connect(home=home) as opened:
        yield opened
    local.stop(home)


@pytest.fixture(scope="session")
def calculator(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("calculator")


@pytest.fixture(scope="session")
def echo(bench: loom.Workbench) -> loom.Agent:
    return bench.deploy("echo")


@pytest.fixture
def open_bench(tmp_path: Path) -> Iterator[Callable[..., loom.Workbench]]:
    """Opens workbenches on services of a test's own, with options."""
    with ExitStack() as stack:

        def open_one(**options: float | str) -> loom.Workbench:
            home = tmp_path / "home"
            stack.callback(local.stop, home)
            return stack.enter_context(loom.connect(home=home, options=local.ServiceOptions(**options)))

        yield open_one
