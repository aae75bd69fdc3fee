"""The tenants of a database, for its administrator: their roles, credits and use."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, case, func, make_url, select, update

from ..errors import StoreError
from .credits import PICOS
from .database import Database
from .operation_tables import MICRO, invocation_costs, sums_of
from .row_security import grant, literal, quoted
from .schema import migrate
from .tables import invocations
from .tenancy import check_tenant
from .tenant_tables import tenants

CALL_CREDIT: Decimal = Decimal("0.01")
"""US dollars that a call holds until its cost is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRow:
    """A tenant.

    Attributes:
        name: Its name.
        role: Its PostgreSQL role; None where settings alone name the tenant.
        created_at: When it was added.
        credit: Its credit in US dollars; None is unlimited.
        used: The part of the credit that is spent or held, in US dollars.
        call: The amount held for each call until its cost is known, in US dollars.
    """

    name: str
    role: str | None
    created_at: datetime
    credit: Decimal | None
    used: Decimal
    call: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedTenant:
    """A new tenant with the address of its database, whose password is stored nowhere."""

    name: str
    database_url: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantUse:
    """The use of Loom by one user of a tenant.

    Attributes:
        tenant: The tenant.
        user: The user; empty if unknown.
        calls: Stored invocations.
        errors: Those that ended in an error.
        known: The sum of the known costs in US dollars.
        unpriced: Invocations without a known cost.
        simulated: Invocations whose cost is simulated: a scripted model answered, and nobody bills it.
    """

    tenant: str
    user: str
    calls: int
    errors: int
    known: Decimal
    unpriced: int
    simulated: int

    @classmethod
    def none(cls, tenant: str) -> TenantUse:
        """Return the use of a tenant that has made no call."""
        return cls(tenant=tenant, user="", calls=0, errors=0, known=Decimal(0), unpriced=0, simulated=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantAccount:
    """The use of Loom by a tenant, and the tenant's credit.

    Attributes:
        use: The calls and costs of all its users.
        tenant: The tenant, with its credit; None for one that was not added, such as `default`, whose credit is
            unlimited.
    """

    use: TenantUse
    tenant: TenantRow | None

    @property
    def name(self) -> str:
        """The tenant's name."""
        return self.use.tenant

    @property
    def left(self) -> Decimal | None:
        """The rest of the credit, in US dollars; None when it is unlimited."""
        if self.tenant is None or self.tenant.credit is None:
            return None
        return max(Decimal(0), self.tenant.credit - self.tenant.used)


class Tenants:
    """Every tenant of a database; only its administrator can open it on PostgreSQL.

    Args:
        database: The database, not limited to a tenant.
        url: Its address with the password.
    """

    def __init__(self, database: Database, url: str) -> None:
        self._database, self._url = database, url

    @classmethod
    def open(cls, url: str) -> Tenants:
        """Open the tenants of the database at an address.

        Args:
            url: An SQLAlchemy address; on PostgreSQL with the role that owns Loom's tables.

        Raises:
            StoreError: The address is that of a tenant.
        """
        database = Database(url, lock_timeout_s=30.0)
        try:
            migrate(database)
            database.open_to_all()
        except BaseException:
            database.close()
            raise
        return cls(database, url)

    def add(self, name: str, *, credit: Decimal | None = None, call: Decimal = CALL_CREDIT) -> AddedTenant:
        """Add a tenant.

        On PostgreSQL it gets a role, which the row-level policies limit to its rows.

        Args:
            name: Its name.
            credit: Its credit in US dollars; None is unlimited.
            call: US dollars that a call holds until its cost is known.

        Returns:
            The tenant; on PostgreSQL with its address, which is not stored.

        Raises:
            StoreError: The tenant already exists.
            SettingsError: The name has invalid characters.
        """
        check_tenant(name)
        role = None if self._database.is_sqlite else _role_name(name)
        values = {
            "tenant": name,
            "role": role,
            "created_at": datetime.now(UTC),
            "used_picos": 0,
            **_credit(credit, call),
        }
        password = secrets.token_urlsafe(24)
        with self._database.write() as connection:
            if connection.execute(select(tenants.c.tenant).where(tenants.c.tenant == name)).first() is not None:
                raise StoreError("The tenant already exists", on=name, try_="another name, or loom tenants credit")
            connection.execute(tenants.insert(), [values])
            if role is None:
                return AddedTenant(name=name, database_url=None)
            _create_role(connection, role, password)
        return self._added(name, role, password)

    def renew(self, name: str) -> AddedTenant:
        """Give a tenant a new address on PostgreSQL; its former address can no longer be used.

        Use it for an address that was lost or seen by others, and for a tenant whose store was copied from another
        server.

        Args:
            name: The tenant.

        Raises:
            StoreError: There is no such tenant, or the database has no roles (SQLite).
        """
        if self._database.is_sqlite:
            raise StoreError("SQLite has no roles", on=name, try_=f"LOOM_TENANT={name} chooses the tenant")
        role, password = _role_name(name), secrets.token_urlsafe(24)
        with self._database.write() as connection:
            former = connection.execute(select(tenants.c.role).where(tenants.c.tenant == name)).first()
            if former is None:
                raise StoreError("No such tenant", on=name, try_="loom tenants list")
            if former.role is not None:
                connection.exec_driver_sql(f"ALTER ROLE {quoted(former.role)} NOLOGIN")
            connection.execute(update(tenants).where(tenants.c.tenant == name).values(role=role))
            _create_role(connection, role, password)
        return self._added(name, role, password)

    def set_credit(self, name: str, credit: Decimal | None, *, call: Decimal | None = None) -> None:
        """Set a tenant's credit; what it has used stays.

        Args:
            name: The tenant.
            credit: The credit in US dollars, from the beginning; None is unlimited.
            call: US dollars that a call holds until its cost is known; None leaves it as it is.

        Raises:
            StoreError: There is no such tenant.
        """
        values = _credit(credit, CALL_CREDIT if call is None else call)
        if call is None:
            del values["call_picos"]
        change = update(tenants).where(tenants.c.tenant == name).values(values)
        with self._database.write() as connection:
            if connection.execute(change).rowcount == 0:
                raise StoreError("No such tenant", on=name, try_="loom tenants list")

    def list(self) -> tuple[TenantRow, ...]:
        """Return the tenants that were added, by name."""
        with self._database.read() as connection:
            records = connection.execute(select(tenants).order_by(tenants.c.tenant)).all()
        return tuple(
            TenantRow(
                name=record.tenant,
                role=record.role,
                created_at=record.created_at,
                credit=None if record.credit_picos is None else Decimal(record.credit_picos) / PICOS,
                used=Decimal(record.used_picos) / PICOS,
                call=Decimal(record.call_picos) / PICOS,
            )
            for record in records
        )

    def use(self, since: datetime | None = None) -> tuple[TenantUse, ...]:
        """Return what each user of each tenant has used, by tenant and user.

        Args:
            since: Only invocations that were stored at this time or later.
        """
        costs = invocation_costs.c
        is_dollar = costs.currency == "USD"
        micros, picos = sums_of(case((is_dollar, costs.known_picos), else_=0))
        chosen = (
            select(
                invocations.c.tenant,
                invocations.c.user_id.label("user"),
                func.count().label("calls"),
                func.sum(case((invocations.c.status == "error", 1), else_=0)).label("errors"),
                micros.label("micros"),
                picos.label("picos"),
                func.sum(case((is_dollar, 0), else_=1)).label("unpriced"),
                func.sum(case((costs.is_simulated, 1), else_=0)).label("simulated"),
            )
            .outerjoin(invocation_costs, costs.invocation_id == invocations.c.id)
            .group_by(invocations.c.tenant, invocations.c.user_id)
        )
        if since is not None:
            chosen = chosen.where(invocations.c.created_at >= since)
        with self._database.read() as connection:
            rows = map(_use, connection.execute(chosen).all())
            return tuple(sorted(rows, key=lambda use: (use.tenant, use.user)))

    def accounts(self, since: datetime | None = None) -> tuple[TenantAccount, ...]:
        """Return what each tenant has used and what is left of its credit, by name.

        Args:
            since: Calls and costs only of invocations that were stored at this time or later; credits are of all time.
        """
        by_name = {row.name: row for row in self.list()}
        totals = total_use(self.use(since))
        nothing = {name: TenantUse.none(name) for name in by_name}
        return tuple(
            TenantAccount(use=use, tenant=by_name.get(name)) for name, use in sorted((nothing | totals).items())
        )

    def _added(self, name: str, role: str, password: str) -> AddedTenant:
        url = make_url(self._url).set(username=role, password=password)
        return AddedTenant(name=name, database_url=url.render_as_string(hide_password=False))

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def total_use(rows: Sequence[TenantUse]) -> dict[str, TenantUse]:
    """Return the use of each tenant, summed over its users, by tenant.

    Args:
        rows: The users.
    """
    totals: dict[str, TenantUse] = {}
    for row in rows:
        before = totals.get(row.tenant)
        totals[row.tenant] = (
            row
            if before is None
            else TenantUse(
                tenant=row.tenant,
                user="",
                calls=before.calls + row.calls,
                errors=before.errors + row.errors,
                known=before.known + row.known,
                unpriced=before.unpriced + row.unpriced,
                simulated=before.simulated + row.simulated,
            )
        )
    return totals


def _role_name(tenant: str) -> str:
    return f"loom_{tenant.replace('-', '_')[:40]}_{secrets.token_hex(4)}"


def _use(record: Any) -> TenantUse:
    return TenantUse(
        tenant=record.tenant,
        user=record.user or "",
        calls=int(record.calls),
        errors=int(record.errors),
        known=(int(record.micros) * MICRO + int(record.picos)) / PICOS,
        unpriced=int(record.unpriced),
        simulated=int(record.simulated),
    )


def _credit(credit: Decimal | None, call: Decimal) -> dict[str, int | None]:
    for amount in (credit, call):
        if amount is not None and not 0 <= amount <= 1_000_000:
            raise ValueError(f"an amount must be between 0 and 1000000 US dollars, not {amount}")
    return {
        "credit_picos": None if credit is None else int(credit * PICOS),
        "call_picos": int(call * PICOS),
    }


def _create_role(connection: Connection, role: str, password: str) -> None:
    """Create a role; the server gets the verifier of the password only, so that its log never has the password."""
    driver: Any = connection.connection.driver_connection
    verifier = driver.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    connection.exec_driver_sql(
        f"CREATE ROLE {quoted(role)} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD {literal(verifier)}"
    )
    grant(connection, role)
