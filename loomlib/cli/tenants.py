"""`loom tenants add|renew|list|credit|report`: the customers or teams that share one database."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from ..presentation.formats import exact, money
from .capture import ago
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, say

if TYPE_CHECKING:
    from ..store import AddedTenant

_CALL = click.option(
    "--call",
    default="0.01",
    show_default=True,
    help="US dollars reserved for each call until its cost is known.",
)


@click.group()
def tenants() -> None:
    """Tenants of the database: their addresses, credits and use. For its administrator."""


@tenants.command()
@click.argument("name")
@click.option("--credit", help="Credit in US dollars (default: unlimited).")
@_CALL
@pass_command_context
def add(command: CommandContext, name: str, credit: str | None, call: str) -> None:
    """Add the tenant NAME.

    On PostgreSQL this creates a role that can access the rows of this tenant only, and prints its DATABASE_URL, which
    is stored nowhere. On SQLite, LOOM_TENANT names the tenant, and nothing prevents a notebook from accessing another
    tenant's rows.
    """
    from ..store import Tenants

    with Tenants.open(command.settings.database_url) as tenant_store:
        added = tenant_store.add(name, credit=_amount(credit, "--credit"), call=_amount(call, "--call") or Decimal(0))
    _show_address(command, added)


@tenants.command()
@click.argument("name")
@pass_command_context
def renew(command: CommandContext, name: str) -> None:
    """Give the tenant NAME a new DATABASE_URL on PostgreSQL, which is stored nowhere; its former one stops working.

    Use it for an address that was lost or exposed, and after `loom store copy`, which copies no roles.
    """
    from ..store import Tenants

    with Tenants.open(command.settings.database_url) as tenant_store:
        _show_address(command, tenant_store.renew(name))


def _show_address(command: CommandContext, added: AddedTenant) -> None:
    if command.as_json:
        emit_json({"tenant": added.name, "database_url": added.database_url})
    elif added.database_url is None:
        click.echo(f"LOOM_TENANT={added.name}")
        say("SQLite keeps tenants apart in Loom only: whoever reads the file reads every tenant's rows")
    else:
        click.echo(f"DATABASE_URL={added.database_url}")
        say("this address is shown once; give it to the tenant's kernels only")


@tenants.command("list")
@pass_command_context
def list_(command: CommandContext) -> None:
    """List the tenants that were added, with their credits."""
    from ..store import Tenants

    with Tenants.open(command.settings.database_url) as tenant_store:
        rows = tenant_store.list()
    if command.as_json:
        emit_json(
            [
                {
                    "tenant": row.name,
                    "role": row.role,
                    "credit_usd": None if row.credit is None else str(row.credit),
                    "used_usd": str(row.used),
                    "call_usd": str(row.call),
                }
                for row in rows
            ]
        )
        return
    emit_table(
        [
            {
                "tenant": row.name,
                "role": row.role or "",
                "credit": "unlimited" if row.credit is None else money(row.credit),
                "used": money(row.used) if row.credit is not None else "",
                "a call holds": money(row.call) if row.credit is not None else "",
            }
            for row in rows
        ],
        empty="No tenants. `loom tenants add NAME` adds one.",
    )


@tenants.command()
@click.argument("name")
@click.argument("amount")
@click.option("--call", help="US dollars reserved for each call until its cost is known (default: as before).")
@pass_command_context
def credit(command: CommandContext, name: str, amount: str, call: str | None) -> None:
    """Set the credit of the tenant NAME to AMOUNT US dollars, or to `unlimited`; what it has used stays."""
    from ..store import Tenants

    limit = None if amount == "unlimited" else _amount(amount, "AMOUNT")
    with Tenants.open(command.settings.database_url) as tenant_store:
        held = None if call is None else _amount(call, "--call") or Decimal(0)
        tenant_store.set_credit(name, limit, call=held)
    say(f"{name}: {'unlimited' if limit is None else money(limit)}")


@tenants.command()
@click.option("--last", help="Only the calls of the last 12h, 7d, 30d … (default: all).")
@pass_command_context
def report(command: CommandContext, last: str | None) -> None:
    """Show the calls, errors and costs of each tenant and user."""
    from ..store import Tenants

    since = None if last is None else datetime.now(UTC) - ago(last, option="--last")
    with Tenants.open(command.settings.database_url) as tenant_store:
        rows = tenant_store.use(since)
    if command.as_json:
        emit_json(
            [
                {
                    "tenant": row.tenant,
                    "user": row.user,
                    "calls": row.calls,
                    "errors": row.errors,
                    "known_usd": str(row.known),
                    "unpriced_calls": row.unpriced,
                    "simulated_calls": row.simulated,
                }
                for row in rows
            ]
        )
        return
    emit_table([_cells(row) for row in rows], empty="No stored calls.")


def _cells(row: Any) -> dict[str, str]:
    note = f" (simulated: {exact(row.simulated)})" if row.simulated else ""
    return {
        "tenant": row.tenant,
        "user": row.user or "unknown",
        "calls": exact(row.calls),
        "errors": exact(row.errors),
        "known cost": f"{money(row.known)}{note}",
        "calls without a cost": exact(row.unpriced),
    }


def _amount(text: str | None, option: str) -> Decimal | None:
    if text is None:
        return None
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal(-1)
    if amount.is_nan() or not 0 <= amount <= 1_000_000:
        raise click.BadParameter(f"{text!r} is not an amount from 0 to 1000000 US dollars", param_hint=option)
    return amount


COMMANDS = (tenants,)
