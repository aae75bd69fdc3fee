"""Calls, costs and credits of the tenants of an installation, for its administrator only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from loomlib.presentation.formats import exact, money
from loomlib.presentation.html import table, view

if TYPE_CHECKING:
    from loomlib.store import TenantAccount
    from loomlib.workbench import Workbench

_HEAD = ("tenant", "calls", "errors", "known cost", "calls without a cost", "credit", "used", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantAccounts:
    """The tenants of an installation; created by `tenant_accounts`.

    Attributes:
        accounts: The usage of each tenant.
        days: Number of days that calls and costs cover; credits cover all time.
    """

    accounts: Sequence[TenantAccount] = field(repr=False)
    days: int

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of displayed texts for each tenant."""
        return [_row(account) for account in self.accounts]

    @property
    def caption(self) -> str:
        """The table's caption."""
        return f"Tenants: calls and costs of the last {exact(self.days)} days, credits of all time"

    def __repr__(self) -> str:
        lines = [", ".join(f"{name}: {value}" for name, value in zip(_HEAD, row, strict=True)) for row in self.rows()]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        return view(table(_HEAD, self.rows(), caption=self.caption), name="loom-tenants")


def tenant_accounts(bench: Workbench, *, days: int = 7) -> TenantAccounts | None:
    """Return the calls, costs and credits of all tenants; None if none are visible to the caller.

    They are shown only with the address of the administrator's role and without a tenant in the settings, never to a
    tenant.

    Args:
        bench: The workbench.
        days: Number of days that calls and costs cover, today included (UTC).
    """
    context = bench.context
    if not context.store.is_administrators:
        return None
    from loomlib.store import Tenants

    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with Tenants.open(context.settings.database_url) as tenants:
        if not tenants.list():
            return None
        return TenantAccounts(accounts=tenants.accounts(today - timedelta(days=days - 1)), days=days)


def _row(account: TenantAccount) -> tuple[str, ...]:
    use, tenant, remaining = account.use, account.tenant, account.left
    note = f" (simulated: {exact(use.simulated)})" if use.simulated else ""
    return (
        account.name,
        exact(use.calls),
        exact(use.errors),
        f"{money(use.known)}{note}",
        exact(use.unpriced),
        "unlimited" if tenant is None or tenant.credit is None else money(tenant.credit),
        "" if tenant is None or tenant.credit is None else money(tenant.used),
        "" if remaining is None else money(remaining),
    )
