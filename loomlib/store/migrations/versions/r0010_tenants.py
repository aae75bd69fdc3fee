"""The tenant and the user of every row, the tenants, and their credits."""

from typing import Any, Literal

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_FIGURES = [
    "agent_id", "client_invoke_time", "status", "failure", "client_duration_ms", "cold_start_latency_ms", "session_id",
    "tenant",
]  # fmt: skip
_AUTOINCREMENT = {"sqlite_autoincrement": True}
_VIEW = """
    CREATE VIEW invocation_sessions AS
    SELECT id, agent_id, session_id, qualifier, prompt, response, client_invoke_time, client_done_time,
           agent_start_time, cold_start_latency_ms, client_duration_ms, status, error_message, created_at
    FROM invocations
"""


def _tenant() -> sa.Column[str]:
    return sa.Column("tenant", sa.Text, nullable=False, server_default="default")


def _user() -> sa.Column[str]:
    return sa.Column("user_id", sa.Text)


def _new_tables() -> None:
    op.create_table(
        "tenants",
        sa.Column("tenant", sa.Text),
        sa.Column("role", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("credit_picos", sa.BigInteger),
        sa.Column("used_picos", sa.BigInteger, nullable=False),
        sa.Column("call_picos", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="pk_tenants"),
        sa.UniqueConstraint("role", name="uq_tenants_role"),
    )
    op.create_table(
        "invocation_charges",
        sa.Column("invocation_id", sa.Integer, autoincrement=False),
        sa.Column("picos", sa.BigInteger, nullable=False),
        sa.Column("is_settled", sa.Boolean, nullable=False),
        _tenant(),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_invocation_charges"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_invocation_charges_invocation_id"),
    )


def upgrade() -> None:
    op.execute("DROP VIEW invocation_sessions")
    op.drop_index("ix_invocations_figures", "invocations")
    with op.batch_alter_table("agents", recreate="auto", table_kwargs=_AUTOINCREMENT) as table:
        table.add_column(_tenant())
        table.drop_constraint("uq_agents_scope_arn", type_="unique")
        table.create_unique_constraint("uq_agents_tenant_scope_arn", ["tenant", "scope", "arn"])
    # Before the columns that can be megabytes: SQLite walks through those to reach what is behind them.
    with op.batch_alter_table("invocations", recreate=_on_sqlite(), table_kwargs=_AUTOINCREMENT) as table:
        table.add_column(_tenant(), **_after("writer_born"))
        table.add_column(_user(), **_after("tenant"))
    op.create_index("ix_invocations_figures", "invocations", _FIGURES)
    with op.batch_alter_table("traces", recreate=_on_sqlite()) as table:
        table.add_column(_tenant(), **_after("span_count"))
    with op.batch_alter_table("alerts", table_kwargs=_AUTOINCREMENT) as table:
        table.add_column(_tenant())
        table.drop_constraint("uq_alerts_scope_name", type_="unique")
        table.create_unique_constraint("uq_alerts_tenant_scope_name", ["tenant", "scope", "name"])
    with op.batch_alter_table("agent_groups") as table:
        table.add_column(_tenant())
        table.drop_constraint("pk_agent_groups", type_="primary")
        table.create_primary_key("pk_agent_groups", ["tenant", "scope", "name", "agent_arn"])
    with op.batch_alter_table("eval_runs") as table:
        table.drop_constraint("fk_eval_runs_set_digest", type_="foreignkey")
    with op.batch_alter_table("eval_sets") as table:
        table.add_column(_tenant())
        table.drop_constraint("pk_eval_sets", type_="primary")
        table.create_primary_key("pk_eval_sets", ["digest", "tenant"])
    with op.batch_alter_table("eval_runs") as table:
        table.add_column(_tenant())
        table.add_column(_user())
        table.create_foreign_key("fk_eval_runs_set_digest", "eval_sets", ["set_digest", "tenant"], ["digest", "tenant"])
    with op.batch_alter_table("eval_answers", recreate=_on_sqlite()) as table:
        table.add_column(_tenant(), **_after("trace_id"))
        table.drop_constraint("uq_eval_answers_key", type_="unique")
        table.create_unique_constraint("uq_eval_answers_tenant_key", ["tenant", "key"])
    for name in (
        "invocation_events", "invocation_load", "invocation_costs", "studies", "measurements", "eval_results",
        "eval_scores", "alert_events", "endpoint_changes", "ab_tests", "ab_sessions",
    ):  # fmt: skip
        op.add_column(name, _tenant())
    op.add_column("studies", _user())
    _new_tables()
    op.execute(_VIEW)


def _on_sqlite() -> Literal["always", "never"]:
    return "always" if op.get_bind().dialect.name == "sqlite" else "never"


def _after(column: str) -> dict[str, Any]:
    return {"insert_after": column} if op.get_bind().dialect.name == "sqlite" else {}
