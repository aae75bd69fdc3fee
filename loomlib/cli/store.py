"""`loom store copy`: copy the store between SQLite and PostgreSQL."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import click

from ..errors import SettingsError
from ..presentation.formats import number, plural
from ..settings import Settings
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, say

if TYPE_CHECKING:
    from ..store.copying import Progress

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_PASSWORD = re.compile(r"//[^/@]*:[^@]+@|[?&]password=", re.IGNORECASE)


@click.group()
def store() -> None:
    """Copy the store to another database."""


@store.command(name="copy")
@click.argument("source")
@click.argument("target")
@pass_command_context
def copy(command: CommandContext, source: str, target: str) -> int:
    """Copy every row of the store SOURCE into the empty database TARGET, and verify it.

    Each is the path of an SQLite file, an address without a password, or the name of an environment variable that holds
    an address: other users of this machine can read a command line. A copy that is interrupted leaves TARGET empty.

        loom store copy .loom/loom.db DATABASE_URL
    """
    from ..store.copying import copy_store

    copied = copy_store(_address(source, command.settings), _address(target, command.settings), progress=_progress())
    if command.as_json:
        tables = [{"table": table.name, "rows": table.rows, "sha256_sum": table.checksum} for table in copied.tables]
        emit_json(
            {
                "source": copied.source,
                "target": copied.target,
                "rows": copied.rows,
                "tables": tables,
                "tenants_without_an_address": list(copied.tenants),
            }
        )
        return 0
    emit_table(
        [
            {"table": table.name, "rows": table.rows, "checksum": table.checksum[:16]}
            for table in copied.tables
            if table.rows
        ],
        empty="The store has no rows.",
    )
    say(f"copied and verified {plural(copied.rows, 'row')}: {copied.source} → {copied.target}")
    for tenant in copied.tenants:
        say(f"the tenant {tenant} has no address of the new database yet: loom tenants renew {tenant}")
    return 0


def _address(argument: str, settings: Settings) -> str:
    """Return the address that an argument names.

    Raises:
        SettingsError: It holds a password, or names a variable that is not set.
    """
    if argument == "DATABASE_URL":
        return settings.database_url
    if _VARIABLE.fullmatch(argument):
        if not (address := os.environ.get(argument)):
            raise SettingsError(
                "The environment variable is not set", on=argument, try_=f"export {argument}=postgresql://…"
            )
        return address if "://" in address else f"sqlite:///{address}"
    if _PASSWORD.search(argument):
        raise SettingsError(
            "An address on a command line must not hold a password, which other users could read",
            try_="put the address into an environment variable, and name that: loom store copy loom.db DATABASE_URL",
        )
    return argument if "://" in argument else f"sqlite:///{argument}"


def _progress() -> Progress:
    """Return a function that prints a line for each table that takes more than one batch."""

    def show(table: str, copied: int, total: int) -> None:
        if copied and (copied == total or copied % 20_000 < 1_000):
            say(f"{table}: {number(copied)} of {number(total)} rows")

    return show


COMMANDS = (store,)
