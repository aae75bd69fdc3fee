"""A tenant's database role on PostgreSQL: hostile SQL with it reaches no other tenant's row."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from postgresql_server import PostgresqlServer
from sqlalchemy import make_url

from loomlib.errors import CreditsUsedUpError, StoreError
from loomlib.store import Store, Tenants
from loomlib.store.tables import metadata

psycopg = pytest.importorskip("psycopg")

SECRET = "the secret of a"
TABLES = [table.name for table in metadata.sorted_tables if table.name != "tenants" and "tenant" in table.c]


@dataclass(frozen=True)
class Installation:
    """One database with two tenants: `a`, whose rows hold a secret, and the hostile `b`."""

    owner: str
    administrator: str
    a: str
    b: str
    a_invocation: int
    a_agent: int


def register(store: Store) -> int:
    return store.agents.upsert(
        scope="local", arn="arn", runtime_id="r", region="us-east-1", account_id="1", name=store.identity.tenant
    ).id


def ask(store: Store, agent_id: int, prompt: str) -> int:
    id = store.invocations.begin(agent_id=agent_id, session_id=prompt, prompt=prompt, client_invoke_time=1.0)
    store.invocations.finish(id, status="complete", response=prompt, client_done_time=2.0, client_duration_ms=1.0)
    return id


@pytest.fixture(scope="module")
def installation(postgresql_server: PostgresqlServer) -> Iterator[Installation]:
    name = postgresql_server.create_migrated()
    administrator = postgresql_server.url(name, user="postgres")
    with Tenants.open(administrator) as tenants:
        urls = [str(tenants.add(tenant, credit=Decimal(1)).database_url) for tenant in ("a", "b")]
    with Store.open(urls[0], user="ann") as a, Store.open(urls[1]) as b:
        agent = register(a)
        secret = ask(a, agent, SECRET)
        a.figures.put_cost(
            secret, known=Decimal("0.5"), unknown=0, is_estimate=False, is_simulated=True, currency="USD"
        )
        a.traces.put(
            secret, session_id=SECRET, trace_id="t", state="found", is_complete=True, span_count=1, records=["{}"]
        )
        ask(b, register(b), "b's own")
    yield Installation(
        owner=postgresql_server.url(name), administrator=administrator, a=urls[0], b=urls[1], a_invocation=secret,
        a_agent=agent,
    )  # fmt: skip
    postgresql_server.drop(name)


def sql(url: str, *statements: str) -> list[Any]:
    """Run statements in one transaction, as a notebook would, and return the rows of the last."""
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        cursor = connection.execute(statements[-1])
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]


def test_the_role_of_an_address_is_the_tenant_whatever_the_settings_say(installation: Installation) -> None:
    with Store.open(installation.b) as store:
        assert store.identity.tenant == "b"
        assert [row.prompt for row in store.invocations.list()] == ["b's own"]
        assert store.invocations.get(installation.a_invocation) is None
    with pytest.raises(StoreError, match="the tenant b's, not a's"):
        Store.open(installation.b, tenant="a")
    with pytest.raises(StoreError, match="the tenant b's"):
        Tenants.open(installation.b)


def test_every_table_with_tenants_is_under_a_forced_policy(installation: Installation) -> None:
    forced = sql(
        installation.owner,
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relrowsecurity AND relforcerowsecurity",
    )
    assert {name for (name,) in forced} == set(TABLES)
    others = sql(
        installation.b,
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND NOT relrowsecurity AND has_table_privilege(oid, 'SELECT')",
    )
    assert others == [("alembic_version",)]


@pytest.mark.parametrize("trick", ["SELECT 1", "SET loom.tenant = 'a'", "SELECT set_config('loom.tenant', '*', true)"])
def test_raw_sql_of_a_tenant_sees_and_changes_only_its_own_rows(installation: Installation, trick: str) -> None:
    counts = [f"(SELECT count(*) FROM {table} WHERE tenant <> 'b')" for table in TABLES]
    assert sql(installation.b, trick, f"SELECT {', '.join(counts)}") == [(0,) * len(TABLES)]
    changed = [table for table in TABLES if table != "invocation_charges"]
    for change in ("UPDATE {} SET tenant = 'b' WHERE tenant <> 'b'", "DELETE FROM {} WHERE tenant <> 'b'"):
        parts = [f"part_{table} AS ({change.format(table)} RETURNING 1)" for table in changed]
        numbers = ", ".join(f"(SELECT count(*) FROM part_{table})" for table in changed)
        assert sql(installation.b, trick, f"WITH {', '.join(parts)} SELECT {numbers}") == [(0,) * len(changed)]


ATTACKS = {
    "lower what is used by a table": "UPDATE tenants SET used_picos = 0",
    "write a charge": "INSERT INTO invocation_charges (invocation_id, picos, is_settled) VALUES (1, 0, true)",
    "read the tenants": "SELECT * FROM tenants",
    "raise the credit": "UPDATE tenants SET credit_picos = 1000000000000000",
    "write a row of another tenant": "INSERT INTO agents (tenant, scope, arn, runtime_id, region, account_id, "
    "registered_at) VALUES ('a', 's', 'x', 'r', 'e', '1', now())",
    "give a row to another tenant": "UPDATE agents SET tenant = 'a'",
    "refer to another tenant's row": "INSERT INTO invocation_events (invocation_id, events) VALUES ({invocation}, '')",
    "move a row to another tenant's agent": "UPDATE invocations SET agent_id = {agent}",
    "switch the policies off": "ALTER TABLE invocations DISABLE ROW LEVEL SECURITY",
    "drop a policy": "DROP POLICY tenant_rows ON invocations",
    "add a policy": "CREATE POLICY mine ON invocations USING (true)",
    "bypass the policies": "SET row_security = off; SELECT * FROM invocations",
    "become the owner": "SET ROLE loom",
    "become the superuser": "SET SESSION AUTHORIZATION postgres",
    "replace a function": "CREATE OR REPLACE FUNCTION loom_tenant() RETURNS text LANGUAGE sql AS $$ SELECT 'a' $$",
    "create a table": "CREATE TABLE public.mine (x text)",
    "change its own role": "ALTER ROLE CURRENT_USER BYPASSRLS",
    "read a file of the server": "COPY (SELECT 1) TO PROGRAM 'id'",
    "read a file by a function": "SELECT pg_read_file('/etc/passwd')",
    "settle another tenant's call": "DO $$ BEGIN PERFORM loom_settle({invocation}, 0); "
    "IF NOT EXISTS (SELECT 1 FROM invocation_charges WHERE invocation_id = {invocation}) "
    "THEN RAISE EXCEPTION 'no such row'; END IF; END $$",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_by_sql_is_refused(installation: Installation, attack: str) -> None:
    statement = ATTACKS[attack].format(invocation=installation.a_invocation, agent=installation.a_agent)
    with pytest.raises(psycopg.Error) as refused:
        sql(installation.b, statement)
    assert SECRET not in str(refused.value)
    with Store.open(installation.a) as a:
        assert [row.prompt for row in a.invocations.list()] == [SECRET]
        assert a.traces.get(installation.a_invocation) is not None


def test_a_function_of_the_tenant_in_a_condition_is_shown_no_other_row(installation: Installation) -> None:
    rows = sql(
        installation.b,
        "CREATE TEMP TABLE spied (prompt text)",
        "CREATE FUNCTION pg_temp.spy(prompt text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS "
        "$$ BEGIN INSERT INTO spied VALUES (prompt); RETURN true; END $$",
        "SELECT count(*) FROM invocations WHERE pg_temp.spy(prompt)",
        "SELECT prompt FROM spied",
    )
    assert rows == [("b's own",)]


def test_a_table_that_hides_the_tenants_does_not_change_the_role_s_tenant(installation: Installation) -> None:
    rows = sql(
        installation.b,
        "CREATE TEMP TABLE tenants (tenant text, role text)",
        "INSERT INTO tenants VALUES ('a', session_user)",
        "SET search_path = pg_temp, public",
        "SELECT public.loom_tenant(), (SELECT count(*) FROM public.invocations)",
    )
    assert rows == [("b", 1)]


def test_views_statistics_and_activity_show_no_other_tenant_s_text(installation: Installation) -> None:
    assert sql(installation.b, "SELECT prompt FROM invocation_sessions") == [("b's own",)]
    sql(installation.administrator, "ANALYZE")
    rows = sql(installation.b, "SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats")
    rows += sql(installation.b, "SELECT query FROM pg_stat_activity WHERE usename <> current_user")
    assert SECRET not in str(rows)


def test_the_address_s_password_is_stored_nowhere(installation: Installation) -> None:
    password = str(make_url(installation.b).password)
    assert len(password) > 20
    with Tenants.open(installation.administrator) as tenants:
        assert password not in repr(tenants.list())
    verifiers = sql(installation.administrator, "SELECT rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL")
    assert all(verifier.startswith("SCRAM-SHA-256$") for (verifier,) in verifiers)
    with Store.open(installation.b) as store:
        assert password not in f"{store!r} {store.url}"


def test_the_owner_s_store_of_a_tenant_is_limited_by_the_policies_too(installation: Installation) -> None:
    statement = "SELECT DISTINCT tenant FROM invocations ORDER BY 1"
    assert sql(installation.owner, "SET loom.tenant = 'b'", statement) == [("b",)]
    assert sql(installation.owner, statement) == [("a",), ("b",)]
    with Store.open(installation.owner, tenant="b") as store:
        assert [row.prompt for row in store.invocations.list()] == ["b's own"]


def test_the_administrator_sees_the_use_of_all_tenants(installation: Installation) -> None:
    with Tenants.open(installation.administrator) as tenants:
        use = {(row.tenant, row.user): row for row in tenants.use()}
        assert use["a", "ann"].known == Decimal("0.5")
        assert use["a", "ann"].simulated == 1
        assert {tenant.name: tenant.used for tenant in tenants.list()}["a"] == Decimal("0.5")


def test_a_tenant_prunes_its_own_history_and_gets_a_new_address(
    postgresql_server: PostgresqlServer, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    name = postgresql_server.create_migrated()
    administrator = postgresql_server.url(name, user="postgres")
    with Tenants.open(administrator) as tenants:
        urls = [str(tenants.add(tenant, credit=Decimal(1)).database_url) for tenant in ("a", "b")]
    with Store.open(urls[0]) as a, Store.open(urls[1]) as b:
        ask(a, register(a), "a's own")
        ask(b, register(b), "b's own")
        assert not a.is_administrators
        a.history.export(tmp_path / "history")
        assert a.history.prune(tmp_path / "history", date(2020, 1, 1)).invocations == 1
        assert a.invocations.list() == ()
        assert [row.prompt for row in b.invocations.list()] == ["b's own"]
        assert sql(urls[0], "SELECT loom_release(1000000000000000)") == [(None,)]  # its own amount, and not below zero
    with Tenants.open(administrator) as tenants:
        assert {row.name: row.used for row in tenants.list()} == {"a": 0, "b": Decimal("0.01")}
        renewed = tenants.renew("a").database_url
        assert renewed not in (None, urls[0])
    with pytest.raises(StoreError):
        Store.open(urls[0])
    with Store.open(str(renewed)) as a:
        assert [agent.name for agent in a.agents.list()] == ["a"]
    postgresql_server.drop(name)


def test_two_processes_cannot_both_spend_the_last_credit(postgresql_server: PostgresqlServer) -> None:
    name = postgresql_server.create_migrated()
    with Tenants.open(postgresql_server.url(name, user="postgres")) as tenants:
        url = str(tenants.add("c", credit=Decimal("0.05")).database_url)
    with Store.open(url) as first, Store.open(url) as second:
        agent = register(first)

        def spend(store: Store) -> bool:
            try:
                ask(store, agent, "hello")
            except CreditsUsedUpError:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            spent = list(pool.map(spend, [first, second] * 8))
        assert sum(spent) == 5
        assert len(first.invocations.list()) == 5
    postgresql_server.drop(name)
