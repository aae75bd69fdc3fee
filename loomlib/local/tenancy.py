"""The tenant for which a request acts, and what it may see: resources of its own or without a tenant, and its own rows.

AWS does not have tenants within an account, so a backend must enforce them; the local AgentCore enforces them itself. A
request of the service's owner does not act for a tenant and sees everything.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

TENANT_CLAIMS: Final = ("tenant_id", "custom:tenant", "tenant")
"""The claims of a token, and the tags of an IAM role, that name a tenant; the first one with a string value is used."""

_ACTING: ContextVar[str | None] = ContextVar("acting_tenant", default=None)


def tenant_of(claims: Mapping[str, Any]) -> str:
    """Return the tenant named by a verified token or by the tags of a role; "" if they do not name one.

    Args:
        claims: The claims of the token, or the tags by their names.
    """
    return next((value for name in TENANT_CLAIMS if isinstance(value := claims.get(name), str) and value), "")


def acting_tenant() -> str | None:
    """Return the tenant for which the current request acts; "" for none, None for the owner, who acts for all."""
    return _ACTING.get()


@contextmanager
def acting_for(tenant: str | None) -> Generator[None]:
    """Act for a tenant within the block.

    Args:
        tenant: The tenant; "" for none, None for the owner.
    """
    token = _ACTING.set(tenant)
    try:
        yield
    finally:
        _ACTING.reset(token)


def sees_resource(tenant: str) -> bool:
    """Return whether the current request may see a resource: its own, or one without a tenant, which all share."""
    return acting_tenant() in (None, tenant) or not tenant


def owns_row(tenant: str) -> bool:
    """Return whether the current request may read and change a row: one of its own tenant, and no other.

    Args:
        tenant: The tenant of the row; empty for none.
    """
    return acting_tenant() in (None, tenant)


def own_rows() -> tuple[str, list[str]]:
    """Return the rows that the current request may read as an SQL condition on the column `tenant`, and its values."""
    acting = acting_tenant()
    return ("1", []) if acting is None else ("tenant = ?", [acting])


def new_tenant(above: str = "") -> str:
    """Return the tenant of a new resource or row: the acting tenant, or, when the owner acts, that of its parent.

    Args:
        above: The tenant of the parent resource.
    """
    acting = acting_tenant()
    return above if acting is None else acting
