"""A tenant's credits: an amount is held before each request is sent, and replaced by the cost once that is known.

On PostgreSQL the functions of `row_security` do it, so that a tenant's database role can neither read nor change the
table of tenants. Elsewhere the same statements run here, in the transaction that stores the invocation: two processes
cannot both spend the last credit.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sqlalchemy import Connection, select, text, update

from ..errors import CreditsUsedUpError
from ..presentation.formats import money
from .tenancy import identity_of
from .tenant_tables import invocation_charges, tenants

PICOS: Final = Decimal(10) ** 12
"""Units of a US dollar in which amounts are stored."""


def hold_credit(connection: Connection, *, refuses: bool = True) -> int | None:
    """Hold the amount of one call.

    Args:
        connection: A writing transaction.
        refuses: Whether a lack of credit is an error; otherwise nothing is held then.

    Returns:
        The amount in 10⁻¹² US dollars; None when nothing is held: the tenant's credit is unlimited.

    Raises:
        CreditsUsedUpError: The rest of the tenant's credit is smaller than the amount.
    """
    if connection.dialect.name == "postgresql":
        held = connection.execute(text("SELECT loom_hold()")).scalar_one()
        if held is not None and held < 0:
            if not refuses:
                return None
            credit, used, call = connection.execute(text("SELECT credit, used, call FROM loom_credit()")).one()
            raise _used_up(connection, credit, used, call)
        return held
    wanted = select(tenants.c.credit_picos, tenants.c.used_picos, tenants.c.call_picos)
    found = connection.execute(wanted.where(tenants.c.credit_picos.is_not(None))).first()
    if found is None:
        return None
    credit, used, call = found
    if used + call > credit:
        if not refuses:
            return None
        raise _used_up(connection, credit, used, call)
    connection.execute(update(tenants).values(used_picos=tenants.c.used_picos + call))
    return call


def keep_charge(connection: Connection, invocation_id: int, picos: int) -> None:
    """Store what is held for an invocation.

    Args:
        connection: A writing transaction.
        invocation_id: The invocation.
        picos: What `hold_credit` returned.
    """
    if connection.dialect.name == "postgresql":
        sql = text("SELECT loom_keep_charge(:id, :picos)")
        connection.execute(sql, {"id": invocation_id, "picos": picos})
        return
    values = {"invocation_id": invocation_id, "picos": picos, "is_settled": False}
    connection.execute(invocation_charges.insert(), [values])


def settle_charge(connection: Connection, invocation_id: int, picos: int) -> None:
    """Replace what was held or charged for an invocation by its cost; no effect when nothing was held.

    Args:
        connection: A writing transaction.
        invocation_id: The invocation.
        picos: The cost in 10⁻¹² US dollars.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT loom_settle(:id, :picos)"), {"id": invocation_id, "picos": picos})
        return
    this = invocation_charges.c.invocation_id == invocation_id
    before = connection.execute(select(invocation_charges.c.picos).where(this)).scalar_one_or_none()
    if before is not None:
        connection.execute(update(invocation_charges).where(this).values(picos=picos, is_settled=True))
        connection.execute(update(tenants).values(used_picos=tenants.c.used_picos + (picos - before)))


def _used_up(connection: Connection, credit: int, used: int, call: int) -> CreditsUsedUpError:
    identity = identity_of(connection)
    rest = max(0, credit - used)
    return CreditsUsedUpError(
        f"The tenant's credit of {money(credit / PICOS)} is used up: {money(rest / PICOS)} is left, and a call holds "
        f"{money(call / PICOS)}",
        on=identity.tenant if identity else "",
        try_="ask the administrator, who can run: loom tenants credit NAME AMOUNT",
    )
