"""Several tenants in one database: no statement of a tenant's store reaches another tenant's rows."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Table, create_engine, delete, exists, func, insert, select, text, update
from sqlalchemy.exc import CompileError
from sqlalchemy.sql.expression import ClauseElement

from loomlib.cli.main import cli
from loomlib.errors import CreditsUsedUpError, SettingsError, StoreError
from loomlib.settings import Settings
from loomlib.store import PlannedMeasurement, Store, StudyRow, Tenants
from loomlib.store.database import Database
from loomlib.store.schema import REVISIONS, migrate, upgrade
from loomlib.store.tables import metadata
from loomlib.store.tenancy import TENANT_COLUMN, StoreIdentity, limit_to

ARN = "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/calculator-AbC123dEf4"
TENANT_TABLES = [table for table in metadata.sorted_tables if TENANT_COLUMN in table.c]


def register(store: Store) -> int:
    agent = store.agents.upsert(
        scope="local", arn=ARN, runtime_id="calculator-AbC123dEf4", region="us-east-1", account_id="123456789012"
    )
    return agent.id


def ask(store: Store, agent_id: int, prompt: str = "2+2?") -> int:
    return store.invocations.begin(agent_id=agent_id, session_id="session", prompt=prompt, client_invoke_time=1.0)


def answer(store: Store, id: int, *, failure: str | None = None) -> None:
    store.invocations.finish(
        id,
        status="error" if failure else "complete",
        response="4",
        client_done_time=2.0,
        client_duration_ms=1.0,
        failure=failure,
    )


def price(store: Store, id: int, dollars: str, *, is_simulated: bool = False) -> None:
    store.figures.put_cost(
        id, known=Decimal(dollars), unknown=0, is_estimate=False, is_simulated=is_simulated, currency="USD"
    )


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'loom.db'}"


@pytest.fixture
def stores(url: str) -> Iterator[tuple[Store, Store]]:
    with Store.open(url, tenant="a", user="ann") as a, Store.open(url, tenant="b") as b:
        yield a, b


def statements(table: Table) -> dict[str, ClauseElement]:
    """Every way in which a statement can reach a table."""
    other = table.alias("other")
    key = next(iter(table.primary_key))
    grouped = select(key, func.count().label("n")).group_by(key).subquery()
    nested = select(other.c[key.key]).where(other.c[key.key] == key)
    return {
        "select": select(table),
        "count": select(func.count()).select_from(table),
        "alias": select(other),
        "join": select(table).join(other, other.c[key.key] == key),
        "outer join": select(table).outerjoin(other, other.c[key.key] == key).where(other.c[key.key].is_(None)),
        "nested join": select(table).join(
            other.join(grouped, grouped.c[key.key] == other.c[key.key]), other.c[key.key] == key
        ),
        "subquery": select(grouped),
        "exists": select(table).where(nested.exists()),
        "not exists": select(table).where(~exists().where(other.c[key.key] == key)),
        "scalar": select(select(func.count()).select_from(table).scalar_subquery()),
        "cte": select(select(table).cte("part")),
        "union": select(key).union_all(select(key)),
        "update": update(table).values({key.key: key}),
        "update by subquery": update(table).where(key.in_(select(other.c[key.key]))).values({key.key: key}),
        "delete": delete(table),
        "delete by subquery": delete(table).where(key.in_(select(other.c[key.key]))),
    }


def test_every_table_of_the_store_names_the_tenant_of_its_rows() -> None:
    without = {table.name for table in metadata.sorted_tables} - {table.name for table in TENANT_TABLES}
    assert without == set()


@pytest.mark.parametrize("table", TENANT_TABLES, ids=lambda table: table.name)
def test_every_kind_of_statement_is_limited_wherever_it_names_a_table(table: Table) -> None:
    engine = create_engine("sqlite://")
    limit_to(engine, StoreIdentity(tenant="a"))
    for kind, statement in statements(table).items():
        compiled = str(statement.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True}))
        mentions = re.findall(rf"\b(?:FROM|JOIN|UPDATE) \(?{table.name}\b", compiled)
        assert mentions, (kind, compiled)
        assert compiled.count(f"{TENANT_COLUMN} = 'a'") >= len(mentions), (kind, compiled)


def test_a_join_that_cannot_be_limited_is_refused() -> None:
    engine = create_engine("sqlite://")
    limit_to(engine, StoreIdentity(tenant="a"))
    table = metadata.tables["invocations"]
    other = table.alias("other")
    both = select(table).join(other, other.c.id == table.c.id, full=True)
    with pytest.raises(CompileError, match="a full outer join cannot be limited to a tenant"):
        both.compile(dialect=engine.dialect)


def test_an_insert_whose_rows_are_no_parameters_is_refused() -> None:
    engine = create_engine("sqlite://")
    limit_to(engine, StoreIdentity(tenant="a"))
    table = metadata.tables["invocations"]
    copied = table.insert().from_select(["id"], select(table.c.id))
    several = table.insert().values([{"id": 1}, {"id": 2}])
    for statement in (copied, several):
        with pytest.raises(CompileError, match="cannot be limited to a tenant; pass its rows as parameters"):
            statement.compile(dialect=engine.dialect)


def test_an_insert_gets_the_tenant_whatever_the_caller_passes() -> None:
    engine = create_engine("sqlite://")
    limit_to(engine, StoreIdentity(tenant="a"))
    for table in TENANT_TABLES:
        statement = insert(table).values({TENANT_COLUMN: "b"})
        compiled = statement.compile(dialect=engine.dialect, column_keys=[column.key for column in table.c])
        assert "a" in compiled.params.values(), table.name
        assert "b" not in compiled.params.values(), table.name


def test_two_tenants_register_one_agent_and_see_only_their_own_rows(stores: tuple[Store, Store]) -> None:
    a, b = stores
    first, second = register(a), register(b)
    assert first != second
    secret = ask(a, first, "the secret of a")
    answer(a, secret)
    price(a, secret, "0.25")
    a.traces.put(secret, session_id="s", trace_id="t", state="found", is_complete=True, span_count=1, records=["{}"])
    a.studies.create(StudyRow(id="study", scope="local", agent_arn=ARN, design={}, created_at=datetime.now(UTC)))
    a.measurements.plan("study", [PlannedMeasurement(position=0, block=0, scenario="cold")])
    assert [agent.id for agent in b.agents.list()] == [second]
    assert b.invocations.get(secret) is None
    assert b.invocations.list() == ()
    assert b.invocations.sessions(first) == ()
    assert b.traces.get(secret) is None
    assert b.call_figures.read([first], None, None)[first].costs == ()
    assert b.studies.get("study") is None
    assert b.measurements.list("study") == ()
    with pytest.raises(StoreError, match="No such invocation"):
        answer(b, secret)
    assert [row.prompt for row in a.invocations.list()] == ["the secret of a"]


def test_a_row_names_the_tenant_and_the_user_of_its_store(stores: tuple[Store, Store], url: str) -> None:
    a, b = stores
    ask(a, register(a))
    ask(b, register(b))
    with create_engine(url).connect() as connection:
        rows = connection.execute(text("SELECT tenant, user_id FROM invocations ORDER BY id")).all()
    assert rows == [("a", "ann"), ("b", None)]


def test_rows_of_an_earlier_release_belong_to_the_default_tenant(url: str) -> None:
    database = Database(url, lock_timeout_s=5)
    with database.write() as connection:
        upgrade(connection, "0009")
        connection.execute(
            text(
                "INSERT INTO agents (id, scope, arn, runtime_id, region, account_id, registered_at) "
                "VALUES (7, 'local', 'arn', 'r', 'us-east-1', '1', '2026-01-01 00:00:00')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO invocations (id, agent_id, session_id, qualifier, status, created_at, bytes_received, "
                "writer_host, writer_pid, writer_born, prompt) "
                "VALUES (9, 7, 's', 'DEFAULT', 'complete', '2026-01-01 00:00:00', 0, 'h', 1, '', 'hello')"
            )
        )
    migrate(database)
    database.close()
    with Store.open(url) as store, Store.open(url, tenant="other") as other:
        assert [row.prompt for row in store.invocations.list()] == ["hello"]
        assert other.invocations.get(9) is None
    assert REVISIONS[-1] >= "0010"


def test_a_credit_is_held_before_the_call_and_replaced_by_its_cost(url: str) -> None:
    with Tenants.open(url) as tenants, Store.open(url, tenant="a") as store:
        tenants.add("a", credit=Decimal("0.02"))
        agent = register(store)
        answer(store, first := ask(store, agent))
        ask(store, agent)
        with pytest.raises(CreditsUsedUpError, match=r"used up.*loom tenants credit"):
            ask(store, agent)
        assert len(store.invocations.list()) == 2
        price(store, first, "0.001")
        price(store, first, "0.002")  # a corrected cost replaces the former
        assert tenants.list()[0].used == Decimal("0.012")
        with pytest.raises(CreditsUsedUpError):
            ask(store, agent)
        tenants.set_credit("a", Decimal("0.03"))
        refused = ask(store, agent)
        answer(store, refused, failure="throttle")  # it never began, so it costs nothing
        assert tenants.list()[0].used == Decimal("0.012")


def test_only_a_call_that_was_never_sent_gives_back_what_it_held_when_it_fails(url: str) -> None:
    with Tenants.open(url) as tenants, Store.open(url, tenant="a") as store:
        tenants.add("a", credit=Decimal("0.05"))
        agent = register(store)
        for failure in ("transport", "cancelled", "timeout"):
            answer(store, store.invocations.begin(agent_id=agent, session_id="session"), failure=failure)
        assert tenants.list()[0].used == 0
        answer(store, ask(store, agent), failure="transport")
        answer(store, store.invocations.begin(agent_id=agent, session_id="session"))
        assert tenants.list()[0].used == Decimal("0.02")


def test_a_tenant_without_credit_limit_and_one_that_nobody_added_are_not_refused(url: str) -> None:
    with Tenants.open(url) as tenants, Store.open(url) as default, Store.open(url, tenant="a") as a:
        tenants.add("a")
        for store in (default, a):
            ask(store, register(store))
        assert tenants.list()[0].used == 0


def test_of_many_threads_and_stores_exactly_as_many_spend_as_the_credit_covers(url: str) -> None:
    with Tenants.open(url) as tenants:
        tenants.add("a", credit=Decimal("0.05"))
    results: list[str] = []

    def spend() -> None:
        with Store.open(url, tenant="a") as store:
            agent = register(store)
            for _ in range(4):
                try:
                    ask(store, agent)
                    results.append("asked")
                except CreditsUsedUpError:
                    results.append("refused")

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results.count("asked"), results.count("refused")) == (5, 11)


def test_the_administrator_sees_what_each_user_of_each_tenant_used(url: str) -> None:
    with (
        Tenants.open(url) as tenants,
        Store.open(url, tenant="a", user="ann") as a,
        Store.open(url, tenant="b") as b,
    ):
        tenants.add("a")
        agent = register(a)
        answer(a, first := ask(a, agent))
        answer(a, ask(a, agent), failure="timeout")
        price(a, first, "0.5", is_simulated=True)
        ask(b, register(b))
        rows = [(use.tenant, use.user, use.calls, use.errors, use.known, use.unpriced) for use in tenants.use()]
        assert rows == [("a", "ann", 2, 1, Decimal("0.5"), 1), ("b", "", 1, 0, Decimal(0), 1)]
        assert tenants.use()[0].simulated == 1


def test_the_use_of_a_tenant_is_the_sum_of_costs_that_64_bits_cannot_hold(url: str) -> None:
    with Store.open(url, tenant="a") as store, Tenants.open(url) as tenants:
        agent = register(store)
        for _ in range(2):
            price(store, ask(store, agent), "6000000.000000000003")
        assert [use.known for use in tenants.use()] == [Decimal("12000000.000000000006")]


def test_an_account_has_the_use_of_all_users_and_what_is_left_of_the_credit(url: str) -> None:
    with Tenants.open(url) as tenants, Store.open(url, tenant="a", user="ann") as ann, Store.open(url) as default:
        tenants.add("a", credit=Decimal(1))
        tenants.add("idle")
        ask(ann, register(ann))
        with Store.open(url, tenant="a", user="bob") as bob:
            ask(bob, register(bob))
        ask(default, register(default))
        accounts = [(account.name, account.use.calls, account.left) for account in tenants.accounts()]
        assert accounts == [("a", 2, Decimal("0.98")), ("default", 1, None), ("idle", 0, None)]
        assert (ann.is_administrators, default.is_administrators) == (False, True)


def test_a_tenant_has_no_address_of_its_own_on_sqlite(url: str) -> None:
    with Tenants.open(url) as tenants, pytest.raises(StoreError, match="LOOM_TENANT=a"):
        tenants.renew("a")
    with pytest.raises(StoreError, match="LOOM_TENANT=a"):
        loom(url, "tenants", "renew", "a")


def test_a_tenant_is_added_once_and_by_a_plain_name(url: str) -> None:
    with Tenants.open(url) as tenants:
        tenants.add("team-a")
        with pytest.raises(StoreError, match="exists"):
            tenants.add("team-a")
        with pytest.raises(SettingsError, match="must have 1 to 48 lower-case letters"):
            tenants.add("a'; DROP TABLE tenants; --")
        with pytest.raises(StoreError, match="No such tenant"):
            tenants.set_credit("nobody", None)
        assert [tenant.name for tenant in tenants.list()] == ["team-a"]


def loom(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env={"DATABASE_URL": url}, catch_exceptions=False)


def test_the_administrator_adds_a_tenant_sets_its_credit_and_reads_its_use(url: str) -> None:
    added = loom(url, "tenants", "add", "team-a", "--credit", "0.02")
    assert added.stdout == "LOOM_TENANT=team-a\n"
    assert "whoever reads the file" in added.stderr
    loom(url, "tenants", "credit", "team-a", "2", "--call", "0.5")
    loom(url, "tenants", "credit", "team-a", "3")  # a call still holds 0.5
    listed = json.loads(loom(url, "--json", "tenants", "list").stdout)
    assert [(row["tenant"], row["credit_usd"], row["call_usd"]) for row in listed] == [("team-a", "3", "0.5")]
    with Store.open(url, tenant="team-a", user="ann") as store:
        answer(store, id := ask(store, register(store)))
        price(store, id, "0.25", is_simulated=True)
    report = loom(url, "tenants", "report").stdout
    assert "team-a" in report
    assert "ann" in report
    assert "$0.25 (simulated: 1)" in report
    assert json.loads(loom(url, "--json", "tenants", "report", "--last", "1h").stdout)[0]["calls"] == 1
    assert "longer than 365000 days" in loom(url, "tenants", "report", "--last", "999999w").stderr
    for amount in ("much", "nan", "inf"):
        assert "is not an amount" in loom(url, "tenants", "credit", "team-a", amount).stderr


def test_the_settings_name_the_tenant_and_the_user_of_a_store(tmp_path: Path) -> None:
    settings = Settings.load({"LOOM_HOME": str(tmp_path), "LOOM_TENANT": "team-a", "JUPYTERHUB_USER": "ann"})
    assert (settings.tenant, settings.user) == ("team-a", "ann")
    assert Settings.load({"LOOM_HOME": str(tmp_path)}).tenant == "default"
