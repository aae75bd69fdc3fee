"""PostgreSQL's row-level security: a tenant's database role sees and writes the rows of its tenant only.

A setting can be changed by SQL, a session's role cannot: the tenant of a role is looked up by `session_user`. The
setting `loom.tenant` applies only to the owner of the tables; the store of an installation that trusts its kernels sets
it in each transaction. Without it the owner is the administrator and reaches every row, as superusers and roles with
BYPASSRLS always do (PostgreSQL 15, 5.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Table, text

from .tables import metadata
from .tenancy import DEFAULT_TENANT, TENANT_COLUMN
from .tenant_tables import invocation_charges, tenants

ALL_TENANTS: Final = "*"
"""The value of `loom.tenant` with which the owner of the tables reads and writes every tenant's rows, as without the
setting."""

_FUNCTIONS: Final = """
CREATE OR REPLACE FUNCTION loom_role_tenant() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER {path} AS
$$ SELECT tenant FROM tenants WHERE role = session_user $$;

CREATE OR REPLACE FUNCTION loom_tenant() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER {path} AS
$$ SELECT CASE WHEN session_user = {owner} THEN nullif(current_setting('loom.tenant', true), '')
               ELSE (SELECT tenant FROM tenants WHERE role = session_user) END $$;

CREATE OR REPLACE FUNCTION loom_last_answer_id() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
DECLARE chosen text := coalesce(current_setting('loom.tenant', true), '');
DECLARE last integer;
BEGIN
    PERFORM set_config('loom.tenant', '*', true);
    SELECT coalesce(max(id), 0) INTO last FROM eval_answers;
    PERFORM set_config('loom.tenant', chosen, true);
    RETURN last;
END $$;

CREATE OR REPLACE FUNCTION loom_credit(OUT credit bigint, OUT used bigint, OUT call bigint)
LANGUAGE sql STABLE SECURITY DEFINER {path} AS
$$ SELECT credit_picos, used_picos, call_picos FROM tenants WHERE tenant = loom_tenant() $$;

CREATE OR REPLACE FUNCTION loom_hold() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
DECLARE held bigint;
BEGIN
    UPDATE tenants SET used_picos = used_picos + call_picos
    WHERE tenant = loom_tenant() AND used_picos + call_picos <= credit_picos RETURNING call_picos INTO held;
    IF held IS NULL AND (SELECT credit FROM loom_credit()) IS NOT NULL THEN RETURN -1; END IF;
    RETURN held;
END $$;

CREATE OR REPLACE FUNCTION loom_hold_calls(calls bigint, fewest bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
DECLARE known record;
DECLARE held bigint := greatest(calls, 0);
BEGIN
    SELECT credit_picos, used_picos, call_picos INTO known FROM tenants WHERE tenant = loom_tenant() FOR UPDATE;
    IF NOT FOUND OR known.credit_picos IS NULL OR known.call_picos = 0 THEN RETURN held; END IF;
    held := least(held, greatest(0, (known.credit_picos - known.used_picos) / known.call_picos));
    IF held < fewest THEN RETURN 0; END IF;
    UPDATE tenants SET used_picos = used_picos + held * call_picos WHERE tenant = loom_tenant();
    RETURN held;
END $$;

CREATE OR REPLACE FUNCTION loom_release(amount bigint) RETURNS void LANGUAGE sql SECURITY DEFINER {path} AS
$$ UPDATE tenants SET used_picos = greatest(0, used_picos - greatest(0, amount)) WHERE tenant = loom_tenant() $$;

CREATE OR REPLACE FUNCTION loom_keep_charge(invocation integer, amount bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
BEGIN
    INSERT INTO invocation_charges (invocation_id, picos, is_settled, tenant)
    SELECT id, greatest(amount, 0), false, tenant FROM invocations WHERE id = invocation AND tenant = loom_tenant();
END $$;

CREATE OR REPLACE FUNCTION loom_settle(invocation integer, amount bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {path} AS $$
DECLARE former bigint;
BEGIN
    SELECT picos INTO former FROM invocation_charges
    WHERE invocation_id = invocation AND tenant = loom_tenant() FOR UPDATE;
    IF former IS NULL THEN RETURN; END IF;
    UPDATE invocation_charges SET picos = greatest(amount, 0), is_settled = true
    WHERE invocation_id = invocation AND tenant = loom_tenant();
    UPDATE tenants SET used_picos = used_picos + greatest(amount, 0) - former WHERE tenant = loom_tenant();
END $$;
"""


def secure(connection: Connection) -> None:
    """Create the functions and policies of every table, and renew the rights of the tenants' roles.

    It runs after each migration, so that a new table cannot lack a policy.

    Args:
        connection: A writing transaction of the owner of the tables.
    """
    if connection.dialect.name != "postgresql":
        return
    owner, schema = connection.execute(text("SELECT current_user, current_schema()")).one()
    path = f"SET search_path = {quoted(schema)}, pg_temp"
    for function in _FUNCTIONS.format(owner=literal(owner), path=path).strip().split("\n\n"):
        _run(connection, function)
    for table in metadata.sorted_tables:
        if TENANT_COLUMN in table.c and table is not tenants:
            for statement in _policies(table, owner):
                _run(connection, statement)
    _run(connection, "ALTER VIEW invocation_sessions SET (security_invoker = true)")
    for role in connection.execute(text("SELECT role FROM tenants WHERE role IS NOT NULL")).scalars().all():
        grant(connection, role)


def grant(connection: Connection, role: str) -> None:
    """Give a tenant's role its rights: rows by the policies, nothing on the table of tenants.

    Args:
        connection: A writing transaction of the owner of the tables.
        role: The role's name.
    """
    name, schema = quoted(role), quoted(connection.execute(text("SELECT current_schema()")).scalar_one())
    _run(connection, f"GRANT USAGE ON SCHEMA {schema} TO {name}")
    _run(connection, f"GRANT SELECT ON alembic_version, invocation_sessions TO {name}")
    for table in metadata.sorted_tables:
        if TENANT_COLUMN not in table.c or table is tenants:
            continue
        # Charges are written by functions; a tenant that prunes its history deletes them with their invocations.
        rights = "SELECT, DELETE" if table is invocation_charges else "SELECT, INSERT, UPDATE, DELETE"
        _run(connection, f"GRANT {rights} ON {quoted(table.name)} TO {name}")
    _run(connection, f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {name}")


def role_tenant(connection: Connection) -> str | None:
    """Return the tenant of the connection's role; None for the owner of the tables and a superuser."""
    return connection.execute(text("SELECT loom_role_tenant()")).scalar_one()


def choose_tenant(connection: Connection, tenant: str) -> None:
    """Set the tenant of the transaction, which applies to the owner of the tables only."""
    connection.execute(text("SELECT set_config('loom.tenant', :tenant, true)"), {"tenant": tenant})


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Return a text as an SQL literal, for statements that take no parameters."""
    return "'" + value.replace("'", "''") + "'"


def _policies(table: Table, owner: str) -> Iterator[str]:
    name = quoted(table.name)
    # A sub-select is computed once in a query, a function in a condition once for each row.
    mine = f"{TENANT_COLUMN} = (SELECT loom_tenant())"
    every = f"coalesce(current_setting('loom.tenant', true), '') IN ('', {literal(ALL_TENANTS)})"
    own = f"coalesce(loom_tenant(), {literal(DEFAULT_TENANT)})"
    yield f"ALTER TABLE {name} ALTER COLUMN {TENANT_COLUMN} SET DEFAULT {own}"
    yield f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY"
    yield f"DROP POLICY IF EXISTS tenant_rows ON {name}"
    checks = " AND ".join([mine, *_own_parents(table)])
    yield f"CREATE POLICY tenant_rows ON {name} USING ({mine}) WITH CHECK ({checks})"
    yield f"DROP POLICY IF EXISTS every_tenant ON {name}"
    yield f"CREATE POLICY every_tenant ON {name} TO {quoted(owner)} USING ({every}) WITH CHECK ({every})"


def _own_parents(table: Table) -> Iterator[str]:
    """Yield conditions that a row refers to its own tenant's rows: foreign keys are checked without policies."""
    for key in sorted(table.foreign_keys, key=lambda key: key.parent.name):
        parent = key.column.table
        if key.constraint is None or len(key.constraint.elements) > 1 or TENANT_COLUMN not in parent.c:
            continue
        column = f"{quoted(table.name)}.{quoted(key.parent.name)}"
        same = f"p.{quoted(key.column.name)} = {column}"
        exists = f"EXISTS (SELECT 1 FROM {quoted(parent.name)} p WHERE {same})"  # noqa: S608 - names of the schema
        yield f"({column} IS NULL OR {exists})"


def _run(connection: Connection, sql: str) -> None:
    # Doubled: the drivers read % as the mark of a parameter.
    connection.exec_driver_sql(sql.replace("%", "%%"))
