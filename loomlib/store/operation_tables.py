"""Tables of invocation costs and alerts."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    func,
)

from .columns import AgentText, JsonText, UtcDateTime, tenant_column
from .tables import metadata

MICRO: Final = 10**6
"""Units of `known_picos` in a millionth of the currency."""

invocation_costs = Table(
    "invocation_costs",
    metadata,
    Column("invocation_id", Integer, ForeignKey("invocations.id"), primary_key=True, autoincrement=False),
    # Integers of 10⁻¹²: sums are exact, and nine million dollars fit into 64 bits; sum them with `sums_of`.
    Column("known_picos", BigInteger, nullable=False),
    Column("unknown_items", Integer, nullable=False),
    Column("is_estimate", Boolean, nullable=False),
    Column("is_simulated", Boolean, nullable=False),
    Column("currency", Text, nullable=False),
    Column("priced_at", UtcDateTime, nullable=False),
    tenant_column(),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("name", AgentText, nullable=False),
    Column("rule", JsonText, nullable=False),
    Column("state", Text),
    Column("state_since", UtcDateTime),
    Column("checked_at", UtcDateTime),
    Column("told_at", UtcDateTime, key="notified_at"),
    Column("told_state", Text, key="notified_state"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("untold", JsonText, key="pending"),
    tenant_column(),
    UniqueConstraint("tenant", "scope", "name"),
    sqlite_autoincrement=True,
)

alert_events = Table(
    "alert_events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("scope", Text, nullable=False),
    Column("alert", AgentText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("before", Text),
    Column("sentence", AgentText, nullable=False),
    Column("reading", JsonText),
    tenant_column(),
    Index(None, "scope", "alert"),
    sqlite_autoincrement=True,
)


def sums_of(picos: ColumnElement[Any]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return the sums of the millionths (`MICRO`) and of the rests of amounts; SQLite sums integers of 64 bits only."""
    return func.sum(picos // MICRO), func.sum(picos % MICRO)
