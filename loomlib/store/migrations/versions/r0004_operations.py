"""Costs of invocations, and alerts: rules, states and history."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_invocations_figures",
        "invocations",
        [
            "agent_id",
            "client_invoke_time",
            "status",
            "failure",
            "client_duration_ms",
            "cold_start_latency_ms",
            "session_id",
        ],
    )
    op.create_table(
        "invocation_costs",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("known_picos", sa.BigInteger, nullable=False),
        sa.Column("unknown_items", sa.Integer, nullable=False),
        sa.Column("is_estimate", sa.Boolean, nullable=False),
        sa.Column("is_simulated", sa.Boolean, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("priced_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_invocation_costs"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_invocation_costs_invocation_id"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("state_since", sa.DateTime(timezone=True)),
        sa.Column("checked_at", sa.DateTime(timezone=True)),
        sa.Column("told_at", sa.DateTime(timezone=True)),
        sa.Column("told_state", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
        sa.UniqueConstraint("scope", "name", name="uq_alerts_scope_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "alert_events",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("alert", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("before", sa.Text),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("reading", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_alert_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_alert_events_scope_alert", "alert_events", ["scope", "alert"])
