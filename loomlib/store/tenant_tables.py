"""Tables of tenants: their database roles and credits, and what each invocation was charged."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, Table, Text, UniqueConstraint

from .columns import UtcDateTime, tenant_column
from .tables import metadata

tenants = Table(
    "tenants",
    metadata,
    Column("tenant", Text, primary_key=True),
    # The PostgreSQL role that is this tenant; NULL for one that only Loom's settings name.
    Column("role", Text),
    Column("created_at", UtcDateTime, nullable=False),
    # US dollars in integers of 10⁻¹², so that sums are exact; NULL credit is unlimited.
    Column("credit_picos", BigInteger),
    Column("used_picos", BigInteger, nullable=False),
    Column("call_picos", BigInteger, nullable=False),
    UniqueConstraint("role"),
)

invocation_charges = Table(
    "invocation_charges",
    metadata,
    Column("invocation_id", Integer, ForeignKey("invocations.id"), primary_key=True, autoincrement=False),
    Column("picos", BigInteger, nullable=False),
    # Whether the invocation's cost has replaced the amount that was held for it.
    Column("is_settled", Boolean, nullable=False),
    tenant_column(),
)
