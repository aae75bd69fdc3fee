"""Fixtures for faults: one shared service with its workbench, and services of a test's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_lab import FaultLab

import loomlib as loom
from loomlib import local


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The `DATABASE_URL` of this process and of those that it starts; None: each home folder's own SQLite file."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgresql_url")
    monkeypatch.setenv("DATABASE_URL", url)
    return url


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., FaultLab]]:
    """Make labs, each with a service that has the given options."""
    labs: list[FaultLab] = []

    def make(**options: Any) -> FaultLab:
        labs.append(FaultLab(tmp_path / str(len(labs)), local.ServiceOptions(**options)))
        return labs[-1]

    with contextlib.ExitStack() as closing:
        closing.callback(lambda: [lab.close() for lab in labs])
        yield make


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    """The lab of all tests that do not harm its service."""
    shared = FaultLab(tmp_path_factory.mktemp("lab"))
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def bench(lab: FaultLab) -> loom.Workbench:
    return lab.open()


@pytest.fixture(scope="session")
def agent(lab: FaultLab, bench: loom.Workbench) -> loom.Agent:
    return lab.deploy(bench, "sdk_obedient.py")
