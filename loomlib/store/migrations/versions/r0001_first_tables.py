"""The first tables, and the specification's view of the invocations."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("arn", sa.Text, nullable=False),
        sa.Column("runtime_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("status", sa.Text),
        sa.Column("region", sa.Text, nullable=False),
        sa.Column("account_id", sa.Text, nullable=False),
        sa.Column("log_group", sa.Text),
        sa.Column("available_qualifiers", sa.Text),
        sa.Column("raw_metadata", sa.Text),
        sa.Column("registered_at", _TIME, nullable=False),
        sa.Column("last_refreshed_at", _TIME),
        sa.Column("removed_at", _TIME),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
        sa.UniqueConstraint("scope", "arn", name="uq_agents_scope_arn"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "invocations",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("agent_id", sa.Integer, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("qualifier", sa.Text, nullable=False),
        sa.Column("client_invoke_time", sa.Double),
        sa.Column("client_done_time", sa.Double),
        sa.Column("agent_start_time", sa.Double),
        sa.Column("cold_start_latency_ms", sa.Double),
        sa.Column("client_duration_ms", sa.Double),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("error_message", sa.Text),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("ttft_ms", sa.Double),
        sa.Column("connect_ms", sa.Double),
        sa.Column("connection_reused", sa.Boolean),
        sa.Column("bytes_received", sa.BigInteger, nullable=False),
        sa.Column("failure", sa.Text),
        sa.Column("request_id", sa.Text),
        sa.Column("trace_id", sa.Text),
        sa.Column("content_type", sa.Text),
        sa.Column("labels", sa.Text),
        sa.Column("payload_digest", sa.Text),
        sa.Column("start_state", sa.Text),
        sa.Column("skew_low_ms", sa.Double),
        sa.Column("skew_high_ms", sa.Double),
        sa.Column("writer_host", sa.Text, nullable=False),
        sa.Column("writer_pid", sa.Integer, nullable=False),
        sa.Column("writer_born", sa.Text, nullable=False),
        sa.Column("prompt", sa.Text),
        sa.Column("chunk_offsets_ms", sa.Text),
        sa.Column("response", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_invocations"),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name="fk_invocations_agent_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_invocations_agent_id_id", "invocations", ["agent_id", "id"])
    op.create_index("ix_invocations_session_id", "invocations", ["session_id"])
    op.create_index("ix_invocations_status", "invocations", ["status"])
    op.create_table(
        "studies",
        sa.Column("id", sa.Text),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("agent_arn", sa.Text, nullable=False),
        sa.Column("agent_name", sa.Text),
        sa.Column("design", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("finished_at", _TIME),
        sa.Column("environment", sa.Text),
        sa.Column("labels", sa.Text),
        sa.Column("lease_token", sa.Text),
        sa.Column("lease_host", sa.Text),
        sa.Column("lease_pid", sa.Integer),
        sa.Column("lease_born", sa.Text),
        sa.Column("lease_until", _TIME),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
    )
    op.create_index("ix_studies_agent_arn", "studies", ["agent_arn"])
    op.create_table(
        "measurements",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("study_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("scenario", sa.Text, nullable=False),
        sa.Column("session_plan", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text),
        sa.Column("invocation_id", sa.Integer),
        sa.Column("started_at", _TIME),
        sa.Column("finished_at", _TIME),
        sa.Column("schedule_lag_ms", sa.Double),
        sa.Column("duration_ms", sa.Double),
        sa.Column("ttft_ms", sa.Double),
        sa.Column("connect_ms", sa.Double),
        sa.Column("cold_start_latency_ms", sa.Double),
        sa.Column("start_state", sa.Text),
        sa.Column("skew_low_ms", sa.Double),
        sa.Column("skew_high_ms", sa.Double),
        sa.Column("failure", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("details", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_measurements"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_measurements_study_id"),
        sa.ForeignKeyConstraint(["invocation_id"], ["invocations.id"], name="fk_measurements_invocation_id"),
        sa.UniqueConstraint("study_id", "position", name="uq_measurements_study_id_position"),
        sqlite_autoincrement=True,
    )
    op.execute(
        """
        CREATE VIEW invocation_sessions AS
        SELECT id, agent_id, session_id, qualifier, prompt, response, client_invoke_time, client_done_time,
               agent_start_time, cold_start_latency_ms, client_duration_ms, status, error_message, created_at
        FROM invocations
        """
    )
