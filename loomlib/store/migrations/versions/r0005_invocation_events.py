"""The events of a protocol (AG-UI, MCP Apps) that came with an answer."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "invocation_events",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("events", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_invocation_events"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_invocation_events_invocation_id"),
    )
