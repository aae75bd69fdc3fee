"""The table of each agent's figures by day, and the indexes of the search for invocations.

Database triggers (revision 0011) add a day's row with its first invocation, and mark it when an invocation changes. So
no writer can forget it, not even another process or a bulk copy.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, Table

from .columns import JsonText, tenant_column
from .tables import invocations, metadata

DAY_S: Final = 86_400
"""Seconds of a day. Days are counted from 1 January 1970 and begin at midnight UTC."""

figure_days = Table(
    "figure_days",
    metadata,
    Column("agent_id", Integer, ForeignKey("agents.id"), primary_key=True, autoincrement=False),
    Column("day", Integer, primary_key=True, autoincrement=False),
    tenant_column(),
    # Whether the columns below agree with the day's invocations; they are NULL until the day was read once.
    Column("is_current", Boolean, nullable=False),
    # Whether the day's invocations may have been removed after their export: its figures are not built again.
    Column("is_pruned", Boolean, nullable=False),
    # The calls with a complete answer and its duration; they come first in `durations`.
    Column("timed", Integer),
    Column("outcomes", JsonText),
    Column("costs", JsonText),
    # Little-endian arrays: 64-bit floats, 64-bit digests of session ids, and 16-bit indexes into `outcomes`.
    Column("cold_starts", LargeBinary),
    Column("sessions", LargeBinary),
    Column("durations", LargeBinary),
    Column("asked", LargeBinary),
    Column("places", LargeBinary),
    Index(None, "is_pruned", "is_current", "day", "agent_id"),
)

# Newest first whatever the agent, with all that a search filters by, so that it reads the rows of its results only.
Index(
    "ix_invocations_search",
    invocations.c.client_invoke_time,
    invocations.c.agent_id,
    invocations.c.status,
    invocations.c.failure,
    invocations.c.client_duration_ms,
    invocations.c.tenant,
    postgresql_include=["id"],
)
Index("ix_invocations_trace_id", invocations.c.trace_id)
