"""The machine's load when an invocation began."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "invocation_load",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("processors", sa.Integer, nullable=False),
        sa.Column("tasks", sa.Integer),
        sa.Column("load_1_min", sa.Double),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_invocation_load"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_invocation_load_invocation_id"),
    )
