"""Each agent's figures by day, and the indexes of the search for invocations."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_SEARCH: Final = ["client_invoke_time", "agent_id", "status", "failure", "client_duration_ms", "tenant"]
_IS_OPEN: Final = sa.text("status IN ('pending', 'streaming')")
_COUNTED: Final = "agent_id, client_invoke_time, status, failure, client_duration_ms, cold_start_latency_ms, session_id"
_INSERT: Final = "INSERT INTO figure_days (agent_id, day, tenant, is_current, is_pruned)"
_SQLITE_DAY: Final = "CAST({row}.client_invoke_time / 86400 AS INTEGER)"

_POSTGRESQL: Final = (
    f"""
    CREATE FUNCTION loom_mark_day(agent integer, sent double precision, of_tenant text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE changed integer;
    BEGIN
        IF agent IS NULL OR sent IS NULL OR NOT sent BETWEEN 0 AND 1e11 THEN RETURN; END IF;
        changed := floor(sent / 86400);
        UPDATE figure_days SET is_current = false WHERE agent_id = agent AND day = changed AND is_current;
        IF NOT FOUND AND NOT EXISTS (SELECT 1 FROM figure_days WHERE agent_id = agent AND day = changed) THEN
            {_INSERT} VALUES (agent, changed, of_tenant, false, false) ON CONFLICT DO NOTHING;
        END IF;
    END $$
    """,  # noqa: S608
    """
    CREATE FUNCTION loom_invocation_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN PERFORM loom_mark_day(OLD.agent_id, OLD.client_invoke_time, OLD.tenant); END IF;
        IF TG_OP <> 'DELETE' THEN PERFORM loom_mark_day(NEW.agent_id, NEW.client_invoke_time, NEW.tenant); END IF;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION loom_cost_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        PERFORM loom_mark_day(sent.agent_id, sent.client_invoke_time, sent.tenant) FROM invocations AS sent
        WHERE sent.id = CASE WHEN TG_OP = 'DELETE' THEN OLD.invocation_id ELSE NEW.invocation_id END;
        RETURN NULL;
    END $$
    """,
    f"""
    CREATE TRIGGER invocations_changed AFTER INSERT OR DELETE OR UPDATE OF {_COUNTED} ON invocations
    FOR EACH ROW EXECUTE FUNCTION loom_invocation_changed()
    """,
    """
    CREATE TRIGGER invocation_costs_changed AFTER INSERT OR DELETE OR UPDATE ON invocation_costs
    FOR EACH ROW EXECUTE FUNCTION loom_cost_changed()
    """,
)


def _sqlite_mark(row: str) -> str:
    """Mark the day of an invocation: `row` is NEW or OLD."""
    of_day = f"agent_id = {row}.agent_id AND day = {_SQLITE_DAY.format(row=row)}"
    return (
        f"UPDATE figure_days SET is_current = 0 WHERE {of_day} AND is_current; "  # noqa: S608
        f"{_INSERT} SELECT {row}.agent_id, {_SQLITE_DAY.format(row=row)}, {row}.tenant, 0, 0 "
        f"WHERE {row}.client_invoke_time BETWEEN 0 AND 1e11 AND NOT EXISTS (SELECT 1 FROM figure_days WHERE {of_day});"
    )


def _sqlite_mark_priced(row: str) -> str:
    """Mark the day of a cost's invocation, which has a row by then."""
    day = _SQLITE_DAY.format(row="invocations")
    sent_days = f"SELECT agent_id, {day} FROM invocations WHERE id = {row}.invocation_id"  # noqa: S608
    return f"UPDATE figure_days SET is_current = 0 WHERE (agent_id, day) IN ({sent_days}) AND is_current;"  # noqa: S608


def _sqlite() -> tuple[str, ...]:
    changed = f"{_sqlite_mark('OLD')} {_sqlite_mark('NEW')}"
    triggers = (
        ("invocations", "inserted", "INSERT", _sqlite_mark("NEW")),
        ("invocations", "updated", f"UPDATE OF {_COUNTED}", changed),
        ("invocations", "deleted", "DELETE", _sqlite_mark("OLD")),
        ("invocation_costs", "inserted", "INSERT", _sqlite_mark_priced("NEW")),
        ("invocation_costs", "updated", "UPDATE", _sqlite_mark_priced("NEW")),
        ("invocation_costs", "deleted", "DELETE", _sqlite_mark_priced("OLD")),
    )
    return tuple(
        f"CREATE TRIGGER {table}_{name} AFTER {when} ON {table} BEGIN {body} END"
        for table, name, when, body in triggers
    )


def upgrade() -> None:
    op.create_table(
        "figure_days",
        sa.Column("agent_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("day", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False, server_default="default"),
        sa.Column("is_current", sa.Boolean, nullable=False),
        sa.Column("is_pruned", sa.Boolean, nullable=False),
        sa.Column("timed", sa.Integer),
        sa.Column("outcomes", sa.Text),
        sa.Column("costs", sa.Text),
        sa.Column("cold_starts", sa.LargeBinary),
        sa.Column("sessions", sa.LargeBinary),
        sa.Column("durations", sa.LargeBinary),
        sa.Column("asked", sa.LargeBinary),
        sa.Column("places", sa.LargeBinary),
        sa.PrimaryKeyConstraint("agent_id", "day", name="pk_figure_days"),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name="fk_figure_days_agent_id"),
    )
    op.create_index(
        "ix_figure_days_is_pruned_is_current_day_agent_id",
        "figure_days",
        ["is_pruned", "is_current", "day", "agent_id"],
    )
    op.create_index("ix_invocations_search", "invocations", _SEARCH, postgresql_include=["id"])
    op.create_index("ix_invocations_trace_id", "invocations", ["trace_id"])
    op.drop_index("ix_invocations_status", "invocations")
    op.create_index(
        "ix_invocations_open",
        "invocations",
        ["writer_host", "writer_pid", "writer_born"],
        sqlite_where=_IS_OPEN,
        postgresql_where=_IS_OPEN,
    )
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if not is_sqlite:
        op.execute("SET LOCAL loom.tenant = '*'")  # the days of every tenant (`row_security`)
    day = _SQLITE_DAY.format(row="invocations") if is_sqlite else "floor(client_invoke_time / 86400)"
    states = "0, 0" if is_sqlite else "false, false"
    from_clause = "FROM invocations WHERE client_invoke_time BETWEEN 0 AND 1e11"
    op.execute(f"{_INSERT} SELECT DISTINCT agent_id, {day}, tenant, {states} {from_clause}")
    for statement in _sqlite() if is_sqlite else _POSTGRESQL:
        op.get_bind().exec_driver_sql(statement)
