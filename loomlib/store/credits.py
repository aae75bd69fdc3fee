"""A tenant's credits: an amount is held before each request is sent, and replaced by the cost once that is known.

On PostgreSQL the functions of `row_security` do it, so that a tenant's database role can neither read nor change the
table of tenants. Elsewhere the same statements run here, in the transaction that stores the invocation: two processes
cannot both spend the last credit.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sqlalchemy import Connection, case, select, text, update

from ..errors import CreditsUsedUpError
from ..presentation.formats import money, plural
from .database import Database
from .tenancy import identity_of
from .tenant_tables import invocation_charges, tenants

PICOS: Final = Decimal(10) ** 12
"""Number of stored units, 10⁻¹² of the currency, in one unit of the currency."""

_LIMITED: Final = select(tenants.c.credit_picos, tenants.c.used_picos, tenants.c.call_picos).where(
    tenants.c.credit_picos.is_not(None)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCredit:
    """The amount held for calls that are not stored one by one.

    Attributes:
        calls: The number of calls.
        picos: The amount in 10⁻¹² US dollars.
    """

    calls: int
    picos: int


class Credits:
    """The credit of the store's tenant, for calls that are not stored one by one, such as those of a load test.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def hold(self, calls: int, *, fewest: int) -> HeldCredit | None:
        """Hold the amounts of calls before they are sent.

        Args:
            calls: The maximum number of calls.
            fewest: The fewest calls that the rest of the credit must cover.

        Returns:
            The amount held, for `calls` or as many as the credit covers; None when the credit is unlimited.

        Raises:
            CreditsUsedUpError: The rest covers fewer; nothing is held.
        """
        with self._database.write() as connection:
            credit, used, call = _credit(connection)
            if credit is None:
                return None
            if connection.dialect.name == "postgresql":
                held_calls = connection.execute(
                    text("SELECT loom_hold_calls(:calls, :fewest)"), {"calls": calls, "fewest": fewest}
                ).scalar_one()
            else:
                held_calls = min(calls, (credit - used) // call) if call else calls
                held_calls = 0 if held_calls < fewest else held_calls
                connection.execute(update(tenants).values(used_picos=tenants.c.used_picos + held_calls * call))
            if held_calls < fewest:
                raise _used_up(connection, credit, used, call, calls=fewest)
            return HeldCredit(calls=held_calls, picos=held_calls * call)

    def release(self, picos: int) -> None:
        """Give back what was held for calls that were not sent.

        Args:
            picos: The amount in 10⁻¹² US dollars.
        """
        with self._database.write() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT loom_release(:picos)"), {"picos": picos})
                return
            rest = tenants.c.used_picos - picos
            connection.execute(update(tenants).values(used_picos=case((rest > 0, rest), else_=0)))


def hold_credit(connection: Connection) -> int | None:
    """Hold the amount of one call.

    Args:
        connection: A writing transaction.

    Returns:
        The amount in 10⁻¹² US dollars; None when nothing is held: the tenant's credit is unlimited.

    Raises:
        CreditsUsedUpError: The rest of the tenant's credit is smaller than the amount.
    """
    if connection.dialect.name == "postgresql":
        amount = connection.execute(text("SELECT loom_hold()")).scalar_one()
        if amount is not None and amount < 0:
            credit, used, call = _credit(connection)
            raise _used_up(connection, credit or 0, used, call)
        return amount
    credit, used, call = _credit(connection)
    if credit is None:
        return None
    if used + call > credit:
        raise _used_up(connection, credit, used, call)
    connection.execute(update(tenants).values(used_picos=tenants.c.used_picos + call))
    return call


def store_hold(connection: Connection, invocation_id: int, picos: int) -> None:
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


def _credit(connection: Connection) -> tuple[int | None, int, int]:
    """Return the tenant's credit, what is used of it, and what a call holds, in 10⁻¹² US dollars."""
    if connection.dialect.name == "postgresql":
        credit, used, call = connection.execute(text("SELECT credit, used, call FROM loom_credit()")).one()
        return credit, used or 0, call or 0
    record = connection.execute(_LIMITED).first()
    return (None, 0, 0) if record is None else (record[0], record[1], record[2])


def _used_up(connection: Connection, credit: int, used: int, call: int, *, calls: int = 1) -> CreditsUsedUpError:
    clause = "a call holds" if calls == 1 else f"{plural(calls, 'call')} hold"
    identity = identity_of(connection)
    rest = max(0, credit - used)
    return CreditsUsedUpError(
        f"The tenant's credit of {money(credit / PICOS)} is used up: {money(rest / PICOS)} is left, and {clause} "
        f"{money(calls * call / PICOS)}",
        on=identity.tenant if identity else "",
        try_="ask the administrator, who can run: loom tenants credit NAME AMOUNT",
    )
