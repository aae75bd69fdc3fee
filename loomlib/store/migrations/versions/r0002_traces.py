"""Collected traces of invocations."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "traces",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("is_complete", sa.Boolean, nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("span_count", sa.Integer, nullable=False),
        sa.Column("details", sa.Text),
        sa.Column("records", sa.LargeBinary),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_traces"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_traces_invocation_id"),
    )
    op.create_index("ix_traces_session_id", "traces", ["session_id"])
    op.create_index("ix_traces_trace_id", "traces", ["trace_id"])
