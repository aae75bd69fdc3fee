"""What holds for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from postgresql_server import MISSING, PostgresqlServer, find_programs

if TYPE_CHECKING:
    from loomlib.store import Store

# The same examples in every run, and no limits of time on a busy machine: what fails has changed.
# HYPOTHESIS_PROFILE=default looks for new ones.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Dozens of services run at once in the tests, so each keeps three idle frozen processes instead of the default eight.
# With only one, tests that alternate between agents would import each agent again.
os.environ.setdefault("LOOM_KEPT_SNAPSHOTS", "3")


# Thousands of tests and modules come into being while they are collected, and stay: looking for garbage among them all
# the time took a third of it. `pytest_collection_finish` looks once. Later, looking every 20,000 objects and not every
# 700 saves a twentieth of the tests' processor time; `swept` collects at the end of each file.
gc.disable()
gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def swept() -> Iterator[None]:
    """Collect what a file of tests left unclosed at its end: the warning is an error of that file, not of the next.

    What was there before the file began is set aside: to look through all that the imports of a whole suite made took
    more than a second for each file. `pytest_sessionfinish` looks through it once.
    """
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(scope="session", autouse=True)
def prepared_services() -> Iterator[None]:
    """Fork the services of these tests from a process that has imported the service (see `service_template`)."""
    from service_template import service_template

    with service_template() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOM_SERVICE_TEMPLATE", address)
        yield


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A PostgreSQL server, started when the first test of this process needs one; a missing one fails in CI."""
    if (programs := find_programs()) is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI {MISSING}", pytrace=False)
        pytest.skip(MISSING)
    server = PostgresqlServer(programs)
    yield server
    server.close()


@pytest.fixture
def postgresql_url(postgresql_server: PostgresqlServer) -> Iterator[str]:
    """The address, with its password, of a new and empty database on PostgreSQL."""
    with postgresql_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a new store: each test that asks for it runs on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'home' / 'loom.db'}"  # as `sqlite_url`
        return
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    with server.store() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def new_store_url(request: pytest.FixtureRequest) -> str:
    """The address of a database that no store has opened yet, on each of the databases."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The address of a new store on SQLite, for what the other database does not have.

    That is a file: its folder, rights, damage, write-ahead log, the limits of its size, the lock of the whole database,
    and connections that a fork must not share.
    """
    return f"sqlite:///{tmp_path / 'home' / 'loom.db'}"


@pytest.fixture
def store(store_url: str, tmp_path: Path) -> Iterator[Store]:
    """A new store, on each of the databases."""
    from new_store import new_store

    from loomlib.store import Store

    with new_store(tmp_path / "home") if store_url.startswith("sqlite") else Store.open(store_url) as opened:
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first and the short ones of `tests/unit` last: workers then end at about the same time."""
    items.sort(key=lambda item: ("unit" in item.path.parts, not {"docs", "notebooks"} & set(item.path.parts)))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    gc.enable()  # also where nothing could be collected
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The seed of the order, which `-q` leaves out."""
    if (seed := config.getoption("randomly_seed", default=None)) is not None:
        terminalreporter.write_line(f"Order of the tests: --randomly-seed={seed} (make: SEED={seed})")
