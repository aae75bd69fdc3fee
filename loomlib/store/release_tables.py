"""Tables of releases: what endpoints served, A/B tests with their sessions, and groups of agents."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, Text, UniqueConstraint

from .columns import AgentText, JsonText, UtcDateTime, tenant_column
from .tables import metadata

endpoint_changes = Table(
    "endpoint_changes",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("agent_arn", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    tenant_column(),
    Index(None, "scope", "agent_arn", "endpoint"),
    sqlite_autoincrement=True,
)

ab_tests = Table(
    "ab_tests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("agent_arn", Text, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("design", JsonText, nullable=False),
    Column("state", Text, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    tenant_column(),
    Index(None, "scope", "agent_arn"),
)

ab_sessions = Table(
    "ab_sessions",
    metadata,
    # The order of the first requests, which decides the sessions of the planned sample.
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("test_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("arm", Text, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    tenant_column(),
    UniqueConstraint("test_id", "session_id"),
    sqlite_autoincrement=True,
)

agent_groups = Table(
    "agent_groups",
    metadata,
    Column("scope", Text, nullable=False),
    Column("name", AgentText, nullable=False),
    Column("agent_arn", Text, nullable=False),
    tenant_column(),
    PrimaryKeyConstraint("tenant", "scope", "name", "agent_arn"),
)
