"""`loom store export`, `prune` and `query`: the long-term history in Parquet files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from ..presentation.formats import day, plural
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, records, say
from .store import store

_DAY: Final = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"])
_FOLDER: Final = click.Path(file_okay=False, path_type=Path)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)


@store.command(name="export")
@click.argument("folder", type=_FOLDER, required=False)
@click.option("--since", type=_DAY, help="Only invocations sent at this time or later, in UTC.")
@click.option("--until", type=_DAY, help="Only invocations sent before this time, in UTC.")
@click.option("--agent", "agents", multiple=True, help="Only this agent's, or a group's (group:NAME); repeatable.")
@pass_command_context
def export(
    command: CommandContext,
    folder: Path | None,
    since: datetime | None,
    until: datetime | None,
    agents: tuple[str, ...],
) -> None:
    """Write ended invocations with traces and costs to FOLDER as Parquet files; by default `history` in the home.

    Invocations that FOLDER already has are not written again.
    """
    with command.connect() as bench:
        result = bench.telemetry.history.export(
            folder, since=_utc(since), until=_utc(until), agents=list(agents) or None, progress=say
        )
    if command.as_json:
        exported = result.exported
        emit_json({"folder": str(exported.folder), "rows": result.rows, "files": exported.files})
    else:
        say(result.sentence())


@store.command(name="prune")
@click.argument("folder", type=_FOLDER, required=False)
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The first day (UTC) to keep.")
@pass_command_context
def prune(command: CommandContext, folder: Path | None, before: datetime) -> None:
    """Remove invocations before a day from the store, after verifying that FOLDER has each of them.

    The overview keeps the figures of these days; `loom store query` reads the invocations.
    """
    with command.connect() as bench:
        result = bench.telemetry.history.prune(before.date(), folder, progress=say)
    if command.as_json:
        emit_json({"before": result.before.isoformat(), "removed": result.invocations, "kept": result.kept})
    else:
        note = f"; {result.kept} stay because studies or other data refer to them" if result.kept else ""
        say(f"removed {plural(result.invocations, 'invocation')} before {day(result.before)}{note}")


@store.command(name="query")
@click.argument("sql")
@click.option("--folder", type=_FOLDER, help="The exported history; by default `history` in the home folder.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Maximum number of rows.")
@pass_command_context
def query(command: CommandContext, sql: str, folder: Path | None, limit: int) -> None:
    """Run one SELECT over the exported history and the store.

    loom store query "SELECT failure, count(*) FROM invocations GROUP BY ALL"
    """
    with command.connect() as bench:
        rows = records(bench.telemetry.history.query(sql, folder, limit=limit))
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="The query has no rows.")


COMMANDS: tuple[click.Command, ...] = ()
