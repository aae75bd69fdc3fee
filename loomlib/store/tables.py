"""Tables of the current schema. `migrations/` creates it; a test compares the two."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from .columns import AgentText, CompressedTexts, JsonText, UtcDateTime, tenant_column, user_column

# Named constraints: a migration can only change a constraint that has a name.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

_FIGURES = (
    "agent_id", "client_invoke_time", "status", "failure", "client_duration_ms", "cold_start_latency_ms", "session_id",
    "tenant",
)  # fmt: skip

agents = Table(
    "agents",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("arn", Text, nullable=False),
    Column("runtime_id", Text, nullable=False),
    Column("name", AgentText),
    Column("status", Text),
    Column("region", Text, nullable=False),
    Column("account_id", Text, nullable=False),
    Column("log_group", Text),
    Column("available_qualifiers", JsonText),
    Column("raw_metadata", JsonText),
    Column("registered_at", UtcDateTime, nullable=False),
    Column("last_refreshed_at", UtcDateTime),
    # A removed agent stays stored: its invocations remain readable, and registering it again restores them.
    Column("removed_at", UtcDateTime),
    Column("tags", JsonText),
    Column("message_format", JsonText),
    tenant_column(),
    UniqueConstraint("tenant", "scope", "arn"),
    sqlite_autoincrement=True,
)

invocations = Table(
    "invocations",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("agent_id", Integer, ForeignKey("agents.id"), nullable=False),
    Column("session_id", Text, nullable=False),
    Column("qualifier", Text, nullable=False),
    Column("client_invoke_time", Double),
    Column("client_done_time", Double),
    Column("agent_start_time", Double),
    Column("cold_start_latency_ms", Double),
    Column("client_duration_ms", Double),
    Column("status", Text, nullable=False),
    Column("error_message", AgentText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("ttft_ms", Double),
    Column("connect_ms", Double),
    Column("connection_reused", Boolean),
    Column("bytes_received", BigInteger, nullable=False),
    Column("failure", Text),
    Column("request_id", AgentText),
    Column("trace_id", AgentText),
    Column("content_type", AgentText),
    Column("labels", JsonText),
    Column("payload_digest", Text),
    Column("start_state", Text),
    Column("skew_low_ms", Double),
    Column("skew_high_ms", Double),
    Column("writer_host", Text, nullable=False),
    Column("writer_pid", Integer, nullable=False),
    Column("writer_born", Text, nullable=False),
    tenant_column(),
    user_column(),
    # Columns that can hold megabytes come last: SQLite reads through them to reach the columns after them.
    Column("prompt", AgentText),
    Column("chunk_offsets_ms", JsonText),
    Column("response", AgentText),
    Index(None, "agent_id", "id"),
    Index(None, "session_id"),
    # All columns that sums over many invocations need, so that these never read the rows.
    Index("ix_invocations_figures", *_FIGURES),
    sqlite_autoincrement=True,
)

# Literals, because a database uses a partial index only if a query states its condition in literals. It finds the few
# open invocations among millions; an index on all four statuses could be chosen for queries that it slows down.
IS_OPEN: Final = invocations.c.status.in_([literal_column("'pending'"), literal_column("'streaming'")])
Index(
    "ix_invocations_open",
    invocations.c.writer_host,
    invocations.c.writer_pid,
    invocations.c.writer_born,
    sqlite_where=IS_OPEN,
    postgresql_where=IS_OPEN,
)

invocation_events = Table(
    "invocation_events",
    metadata,
    Column("invocation_id", Integer, ForeignKey("invocations.id"), primary_key=True, autoincrement=False),
    Column("events", CompressedTexts, nullable=False),
    tenant_column(),
)

invocation_load = Table(
    "invocation_load",
    metadata,
    Column("invocation_id", Integer, ForeignKey("invocations.id"), primary_key=True, autoincrement=False),
    Column("processors", Integer, nullable=False),
    Column("tasks", Integer),
    Column("load_1_min", Double),
    tenant_column(),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("agent_arn", Text, nullable=False),
    Column("agent_name", AgentText),
    Column("design", JsonText, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("environment", JsonText),
    Column("labels", JsonText),
    Column("lease_token", Text),
    Column("lease_host", Text),
    Column("lease_pid", Integer),
    Column("lease_born", Text),
    Column("lease_until", UtcDateTime),
    tenant_column(),
    user_column(),
    Index(None, "agent_arn"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("study_id", Text, ForeignKey("studies.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("scenario", Text, nullable=False),
    Column("session_plan", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("session_id", Text),
    Column("invocation_id", Integer, ForeignKey("invocations.id")),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("schedule_lag_ms", Double),
    Column("duration_ms", Double),
    Column("ttft_ms", Double),
    Column("connect_ms", Double),
    Column("cold_start_latency_ms", Double),
    Column("start_state", Text),
    Column("skew_low_ms", Double),
    Column("skew_high_ms", Double),
    Column("failure", Text),
    Column("error_message", AgentText),
    Column("details", JsonText),
    tenant_column(),
    UniqueConstraint("study_id", "position"),
    sqlite_autoincrement=True,
)

traces = Table(
    "traces",
    metadata,
    Column("invocation_id", Integer, ForeignKey("invocations.id"), primary_key=True, autoincrement=False),
    Column("session_id", Text, nullable=False),
    Column("trace_id", Text),
    Column("state", Text, nullable=False),
    Column("is_complete", Boolean, nullable=False),
    Column("fetched_at", UtcDateTime, nullable=False),
    Column("span_count", Integer, nullable=False),
    tenant_column(),
    Column("details", JsonText),
    Column("records", CompressedTexts),
    Index(None, "session_id"),
    Index(None, "trace_id"),
)
