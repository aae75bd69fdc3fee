"""Fixtures for faults: a house that all share, and houses with a service of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_house import Environment

import loomlib as loom
from loomlib import local


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Environment]]:
    """Houses with a service of their own, which takes the options given."""
    built: list[Environment] = []

    def make(**options: Any) -> Environment:
        built.append(Environment(tmp_path / str(len(built)), local.ServiceOptions(**options)))
        built[-1].home.parent.mkdir()
        return built[-1]

    with contextlib.ExitStack() as closing:
        closing.callback(lambda: [each.close() for each in built])
        yield make


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """One house for all tests that leave its service alone."""
    shared = Environment(tmp_path_factory.mktemp("house"))
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def bench(house: Environment) -> loom.Workbench:
    return house.open()


@pytest.fixture(scope="session")
def agent(house: Environment, bench: loom.Workbench) -> loom.Agent:
    return house.deploy(bench)
