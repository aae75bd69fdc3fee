"""Clients of the shared local service, and the judging models that every judge may be given."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from loomlib import local
from loomlib.aws import Clients, Connection
from loomlib.evals.judges import ConverseJudge


@pytest.fixture(scope="session")
def clients(service: local.ServiceState) -> Iterator[Clients]:
    clients = Clients(Connection(region=service.region, environment=service.environment()))
    yield clients
    clients.close()


@pytest.fixture(scope="session")
def model(clients: Clients) -> ConverseJudge:
    return ConverseJudge(clients=clients)


@pytest.fixture(scope="session")
def fakes() -> ModuleType:
    """The fake judge of the unit tests, which has to pass the contract as well."""
    path = Path(__file__).parents[2] / "unit" / "evals" / "fake_judge.py"
    spec = importlib.util.spec_from_file_location("unit_fake_judge", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
