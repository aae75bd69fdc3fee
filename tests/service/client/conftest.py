"""A store on disk, an agent in it, and an invoker that talks to a scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from new_store import new_store
from paced import PacedServer, Script, paced_server

from loomlib.agents import AgentEntry, Invoker, RuntimeArn, entry_from_row
from loomlib.aws.connection import Clients, Connection
from loomlib.aws.engine import Engine
from loomlib.local import ServiceState
from loomlib.store import Store

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_store(tmp_path) as store:
        yield store


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def agent(store: Store) -> AgentEntry:
    arn = RuntimeArn.parse(ARN)
    return entry_from_row(
        store.agents.upsert(
            scope="local",
            arn=ARN,
            runtime_id=arn.runtime_id,
            region=arn.region,
            account_id=arn.account_id,
            name=arn.name,
            status="READY",
            available_qualifiers=["DEFAULT"],
        )
    )


@pytest.fixture
def serve() -> Iterator[Callable[[Script], PacedServer]]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(paced_server(script))


@pytest.fixture
def clients_of() -> Iterator[Callable[[Mapping[str, str]], Clients]]:
    """Makes clients whose connections end with the test."""
    with ExitStack() as stack:
        yield lambda environment: stack.enter_context(
            closing(Clients(Connection(region="us-east-1", environment=environment)))
        )


@pytest.fixture
def invoker_for(
    store: Store, engine: Engine, clients_of: Callable[[Mapping[str, str]], Clients]
) -> Iterator[Callable[..., Invoker]]:
    invokers: list[Invoker] = []

    def make(server: PacedServer, **options: float) -> Invoker:
        invokers.append(Invoker(store, clients_of(server.environment()), engine, **options))
        return invokers[-1]

    yield make
    for invoker in invokers:
        invoker.close()


@pytest.fixture
def clients(service: ServiceState) -> Iterator[Clients]:
    with closing(Clients(Connection(region=service.region, environment=service.environment()))) as clients:
        yield clients
