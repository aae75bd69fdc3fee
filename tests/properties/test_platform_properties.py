"""Properties of a platform for agents, for any input; `platform_properties` lists them all."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgresql_server import PostgresqlServer

import loomlib as loom
from loomlib import local
from loomlib.agents import Chunk
from loomlib.errors import CreditsUsedUpError, StoreError
from loomlib.store import Store, StudyRow, Tenants

AGENT = """
from bedrock_agentcore import BedrockAgentCoreApp

app = BedrockAgentCoreApp()

@app.entrypoint
async def answer(payload):
    for piece in payload.get("pieces", [payload.get("prompt")]):
        yield piece

app.run()
"""

# A word of each answer differs, so that no answer can be taken for another.
TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), min_size=1, max_size=40)
EXAMPLES = [5, pytest.param(200, marks=pytest.mark.long)]
STORED_EXAMPLES = [3, pytest.param(100, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def agent(bench: loom.Workbench, tmp_path_factory: pytest.TempPathFactory) -> loom.Agent:
    file = tmp_path_factory.mktemp("agent") / "agent.py"
    file.write_text(AGENT)
    return bench.deploy(file, name="properties")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one store for all examples, with the rights of its administrator."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('store') / 'loom.db'}"
        return
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    name = server.create_migrated()
    yield server.url(name, user="postgres")
    server.drop(name)


@contextmanager
def tenant_store(database: str, name: str, credit: Decimal | None = None) -> Iterator[Store]:
    """Open the store of a new tenant: on PostgreSQL with its own role."""
    with Tenants.open(database) as tenants:
        url = tenants.add(name, credit=credit).database_url
    with Store.open(url or database, tenant=name) as store:
        yield store


def register(store: Store, arn: str = "arn", scope: str = "local") -> int:
    return store.agents.upsert(scope=scope, arn=arn, runtime_id=arn, region="us-east-1", account_id="1").id


_numbers = iter(range(1_000_000))


def fresh(prefix: str) -> str:
    return f"{prefix}{next(_numbers)}"


@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_run_is_an_invocation_of_the_runtime_and_is_stored_as_it_came(
    agent: loom.Agent, home: Path, examples: int
) -> None:
    session = "a-session-of-the-properties-of-platforms"

    @settings(max_examples=examples)
    @given(TEXTS)
    def holds(prompt: str) -> None:
        invocation = agent.invoke(prompt, session_id=session)
        assert (invocation.ok, invocation.text) == (True, prompt)
        with Store.open(f"sqlite:///{home}/loom.db") as store:
            row = store.invocations.list(limit=1)[0]
        assert (row.status, row.prompt, row.response, row.session_id) == ("complete", prompt, prompt, session)
        assert row.request_id

    holds()
    assert session in {session.session_id for session in local.status(home).sessions}


@pytest.mark.parametrize("examples", [1, pytest.param(30, marks=pytest.mark.long)])
def test_runs_at_the_same_time_complete_each_with_its_own_answer(agent: loom.Agent, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(TEXTS, min_size=2, max_size=4, unique=True))
    def holds(prompts: list[str]) -> None:
        with ThreadPoolExecutor(len(prompts)) as pool:
            invocations = list(pool.map(agent.invoke, prompts))
        assert [invocation.text for invocation in invocations] == prompts
        assert len({invocation.session_id for invocation in invocations}) == len(prompts)

    holds()


@pytest.mark.parametrize("examples", EXAMPLES)
def test_the_pieces_of_an_answer_arrive_in_order_and_are_the_stored_answer(agent: loom.Agent, examples: int) -> None:
    session = "another-session-of-the-properties-of-platforms"

    @settings(max_examples=examples)
    @given(st.lists(TEXTS, min_size=1, max_size=5))
    def holds(pieces: list[str]) -> None:
        events = list(agent.stream(payload={"pieces": pieces}, session_id=session))
        chunks = [event for event in events if isinstance(event, Chunk)]
        assert [chunk.text for chunk in chunks] == pieces
        assert [chunk.index for chunk in chunks] == list(range(len(pieces)))
        offsets = [chunk.offset_ms for chunk in chunks]
        assert offsets == sorted(offsets)
        stored = agent.context.store.invocations.list(limit=1)[0]
        assert (stored.response, len(stored.chunk_offsets_ms)) == ("".join(pieces), len(pieces))

    holds()


COST = st.one_of(st.none(), st.integers(0, 3_000).map(lambda cents: Decimal(cents) / 100_000))


@pytest.mark.parametrize("examples", STORED_EXAMPLES)
def test_the_used_credit_is_the_sum_of_the_costs_and_of_what_is_held(database: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(COST, max_size=8))
    def holds(costs: list[Decimal | None]) -> None:
        credit, call = Decimal("0.05"), Decimal("0.01")
        used = Decimal(0)
        name = fresh("credit-")
        with tenant_store(database, name, credit) as store:
            agent = register(store)
            for cost in costs:
                if used + call > credit:
                    with pytest.raises(CreditsUsedUpError):
                        store.invocations.begin(agent_id=agent, session_id="s", prompt="p")
                    continue
                id = store.invocations.begin(agent_id=agent, session_id="s", prompt="p")
                if cost is not None:
                    store.figures.put_cost(
                        id, known=cost, unknown=0, is_estimate=False, is_simulated=True, currency="USD"
                    )
                used += call if cost is None else cost
        with Tenants.open(database) as tenants:
            assert {tenant.name: tenant.used for tenant in tenants.list()}[name] == used

    holds()


HOLD = st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 4), st.booleans())


@pytest.mark.parametrize("examples", STORED_EXAMPLES)
def test_credit_that_is_held_for_many_calls_is_never_more_than_a_tenant_has(database: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(HOLD, max_size=6))
    def holds(steps: list[tuple[bool, int, int, bool]]) -> None:
        names, used = (fresh("hold-a-"), fresh("hold-b-")), [Decimal(0), Decimal(0)]
        credit, call = Decimal("0.08"), Decimal("0.01")
        with tenant_store(database, names[0], credit) as a, tenant_store(database, names[1], credit) as b:
            for is_second, calls, fewest, gives_back in steps:
                store, affordable = (a, b)[is_second], int((credit - used[is_second]) / call)
                held_calls = min(calls, affordable)
                if held_calls < fewest:
                    with pytest.raises(CreditsUsedUpError):
                        store.credits.hold(calls, fewest=fewest)
                    continue
                hold = store.credits.hold(calls, fewest=fewest)
                assert hold is not None
                assert (hold.calls, hold.picos) == (held_calls, int(held_calls * call * 10**12))
                if gives_back:
                    store.credits.release(hold.picos)
                else:
                    used[is_second] += held_calls * call
        with Tenants.open(database) as tenants:
            used_by_tenant = {tenant.name: tenant.used for tenant in tenants.list()}
        assert [used_by_tenant[name] for name in names] == used

    holds()


STEP = st.tuples(st.booleans(), st.sampled_from(["ask", "finish", "note", "group", "read"]), TEXTS)


@pytest.mark.parametrize("examples", STORED_EXAMPLES)
def test_each_tenant_sees_exactly_its_own_rows(database: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(STEP, max_size=12))
    def holds(steps: list[tuple[bool, str, str]]) -> None:
        with tenant_store(database, fresh("a")) as a, tenant_store(database, fresh("b")) as b:
            stores, agents = (a, b), (register(a), register(b))
            invocation_ids: tuple[list[int], list[int]] = ([], [])
            groups: tuple[set[str], set[str]] = (set(), set())
            for is_second, step, text in steps:
                store, agent, mine, others = (
                    stores[is_second],
                    agents[is_second],
                    invocation_ids[is_second],
                    invocation_ids[1 - is_second],
                )
                if step == "ask":
                    mine.append(store.invocations.begin(agent_id=agent, session_id=text, prompt=text))
                elif step == "finish" and others:
                    with pytest.raises(StoreError, match="No such invocation"):
                        store.invocations.finish(
                            others[-1], status="error", response=text, client_done_time=1.0, client_duration_ms=1.0
                        )
                elif step == "note" and others:
                    assert not store.traces.note(others[-1], text=text)
                elif step == "group":
                    store.groups.add("local", text, ["arn"])
                    groups[is_second].add(text)
                elif step == "read" and others:
                    assert store.invocations.get(others[-1]) is None
                    assert store.invocations.events(others[-1]) == ()
            for store, mine, names in zip(stores, invocation_ids, groups, strict=True):
                assert [row.id for row in store.invocations.list(limit=None)] == mine[::-1]
                assert set(store.groups.list("local")) == names
                assert len(store.agents.list()) == 1

    holds()


@pytest.mark.parametrize("examples", STORED_EXAMPLES)
def test_a_registered_runtime_is_found_again_in_its_own_environment_only(database: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(st.tuples(st.sampled_from(["local", "aws"]), TEXTS), max_size=6, unique=True))
    def holds(runtimes: list[tuple[str, str]]) -> None:
        with tenant_store(database, fresh("e")) as store:
            ids = {(scope, arn): register(store, f"arn:{arn}", scope) for scope, arn in runtimes}
            for scope in ("local", "aws"):
                assert {agent.id for agent in store.agents.list(scope)} == {
                    id for (where, _), id in ids.items() if where == scope
                }
            for (scope, arn), id in ids.items():
                stored_agent = store.agents.get(scope, f"arn:{arn}")
                assert stored_agent is not None
                assert (stored_agent.id, stored_agent.scope) == (id, scope)

    holds()


@pytest.mark.parametrize("examples", [2, pytest.param(50, marks=pytest.mark.long)])
def test_of_several_runners_exactly_one_gets_the_study(database: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.integers(2, 6))
    def holds(runners: int) -> None:
        with Store.open(database) as store:
            study = fresh("study-")
            store.studies.create(
                StudyRow(id=study, scope="local", agent_arn="arn", design={}, created_at=datetime.now(UTC))
            )

            def wins(_: int) -> bool:
                try:
                    store.studies.acquire(study)
                except StoreError:
                    return False
                return True

            with ThreadPoolExecutor(runners) as pool:
                assert sum(pool.map(wins, range(runners))) == 1

    holds()
