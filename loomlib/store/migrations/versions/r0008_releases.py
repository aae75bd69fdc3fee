"""Releases: what endpoints served, A/B tests, groups and tags of agents."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "endpoint_changes",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("agent_arn", sa.Text, nullable=False),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_endpoint_changes"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_endpoint_changes_scope_agent_arn_endpoint", "endpoint_changes", ["scope", "agent_arn", "endpoint"]
    )
    op.create_table(
        "ab_tests",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("agent_arn", sa.Text, nullable=False),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("design", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_ab_tests"),
    )
    op.create_index("ix_ab_tests_scope_agent_arn", "ab_tests", ["scope", "agent_arn"])
    op.create_table(
        "ab_sessions",
        sa.Column("id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("test_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("arm", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ab_sessions"),
        sa.UniqueConstraint("test_id", "session_id", name="uq_ab_sessions_test_id_session_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent_groups",
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("agent_arn", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("scope", "name", "agent_arn", name="pk_agent_groups"),
    )
    op.add_column("agents", sa.Column("tags", sa.Text))
