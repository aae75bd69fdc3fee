"""`loom memory health|snapshot|diff|export|import|forget|isolation`: check, copy and delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from ..presentation.formats import plural
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, is_terminal, printable, say

_FILE = click.Path(dir_okay=False)
_THERE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("name")
@click.option(
    "--allow", "allow", multiple=True, help="Kind of personal data that is allowed, such as email; repeatable."
)
@click.option("--presidio", is_flag=True, help="Also use Presidio's recognizers (names, places).")
@click.option(
    "--all", "everything", is_flag=True, help="Read everything instead of the first 20,000 records and events."
)
@click.option(
    "--fail-on",
    type=click.Choice(["problem", "warning"]),
    help="Exit with code 2 if there is a problem (with “warning”: a problem or a warning).",
)
@pass_command_context
def health(
    command: CommandContext, name: str, allow: tuple[str, ...], presidio: bool, everything: bool, fail_on: str | None
) -> int:
    """List problems and warnings of the memory NAME, with redacted evidence."""
    limits: dict[str, Any] = {"records": None, "events": None} if everything else {}
    with command.connect() as bench:
        health_report = bench.memories.get(name).health(allow=allow, presidio=presidio, **limits)
    if command.as_json:
        growth = health_report.growth.row() if health_report.growth else None
        emit_json(
            {
                "sentence": health_report.sentence(),
                "healthy": health_report.is_healthy,
                "growth": growth,
                "rows": health_report.rows(),
            }
        )
    else:
        say(printable(health_report.note()))
        rows = [{key: row[key] for key in ("severity", "kind", "what", "ids", "fix")} for row in health_report.rows()]
        emit_table(rows, empty="No findings.")
    missed = (
        health_report.problems
        if fail_on == "problem"
        else ()
        if fail_on is None or health_report.is_healthy
        else health_report.findings
    )
    return 2 if missed else 0


@click.command()
@click.argument("name")
@click.argument("path", type=_FILE)
@click.option("--no-events", is_flag=True, help="Records only: counting events takes one request per session.")
@pass_command_context
def snapshot(command: CommandContext, name: str, path: str, no_events: bool) -> None:
    """Save a redacted snapshot of the memory NAME to the file PATH, to compare it later."""
    with command.connect() as bench:
        snapshot = bench.memories.get(name).snapshot(events=not no_events)
        snapshot.save(path)
    records, events = len(snapshot.records), sum((snapshot.events or {}).values())
    if command.as_json:
        emit_json({"path": path, "records": records, "events": events})
    else:
        say(f"saved {plural(records, 'record')} and {plural(events, 'event')} to {path}")


@click.command()
@click.argument("name")
@click.argument("before", type=_THERE)
@click.argument("after", type=_THERE, required=False)
@pass_command_context
def diff(command: CommandContext, name: str, before: str, after: str | None) -> None:
    """List what changed in the memory NAME between the snapshots BEFORE and AFTER (default: now)."""
    with command.connect() as bench:
        difference = bench.memories.get(name).diff(before, after)
    _emit(command, difference.note(), difference.rows(), empty="No record changed.")


@click.command("export")
@click.argument("name")
@click.argument("path", type=_FILE)
@click.option("--actor", "actors", multiple=True, help="Only this actor's; repeatable.")
@click.option("--no-redaction", is_flag=True, help="Keep secrets and personal data in the file.")
@pass_command_context
def export_(command: CommandContext, name: str, path: str, actors: tuple[str, ...], no_redaction: bool) -> None:
    """Write the events and records of the memory NAME to PATH as JSON lines, redacted."""
    with command.connect() as bench:
        result = bench.memories.get(name).export(path, actors=actors or None, redact=not no_redaction)
    _emit(command, result.note(), result.rows(), empty="Nothing.")


@click.command("import")
@click.argument("name")
@click.argument("path", type=_THERE)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option(
    "--extract", is_flag=True, help="Let the memory's strategies extract records from the imported events as well."
)
@pass_command_context
def import_(command: CommandContext, name: str, path: str, yes: bool, extract: bool) -> int:
    """Import the file PATH into the memory NAME, after a preview."""
    with command.connect() as bench:
        preview = bench.memories.get(name).import_(path)
        return _confirmed(command, preview, yes, "Write this?", lambda: preview.confirm(extract=extract))


@click.command()
@click.argument("name")
@click.argument("actor")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@pass_command_context
def forget(command: CommandContext, name: str, actor: str, yes: bool) -> int:
    """Delete all events and records of ACTOR in the memory NAME, after a preview, and verify it."""
    with command.connect() as bench:
        preview = bench.memories.get(name).forget(actor)
        if not preview.parts:
            _emit(command, preview.note(), [], empty="Nothing to delete.")
            return 0
        return _confirmed(command, preview, yes, "Delete this? It cannot be undone.", preview.confirm)


@click.command()
@click.argument("name")
@click.option("--pattern", "patterns", multiple=True, help="A namespace with placeholders (default: the memory's own).")
@click.option("--actors", type=click.IntRange(2, 200), default=12, show_default=True, help="Number of test actors.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the test actors' ids.")
@click.option("--slashes", is_flag=True, help="Allow slashes in the ids.")
@pass_command_context
def isolation(
    command: CommandContext, name: str, patterns: tuple[str, ...], actors: int, seed: int, slashes: bool
) -> int:
    """Test whether reads of the memory NAME return records of another actor or tenant.

    Writes to a scratch namespace with test actors and deletes it afterwards. Exit code 2: a read returned another's
    records.
    """
    with command.connect() as bench:
        report = bench.memories.get(name).check_isolation(patterns or None, actors=actors, seed=seed, slashes=slashes)
    _emit(command, report.sentence(), report.rows(), empty="No read returned another actor's records.")
    return 0 if report.is_isolated else 2


def _confirmed(command: CommandContext, preview: Any, yes: bool, question: str, act: Callable[[], Any]) -> int:
    """Show a preview, ask for confirmation, and execute. Without a terminal only `--yes` confirms."""
    if not yes:
        _emit(command, preview.note(), preview.rows(), empty="Nothing.")
        if command.as_json or not is_terminal():
            say("Nothing was changed. Add --yes to do it.")
            return 0
        if not click.confirm(question, default=False):
            say("Nothing was changed.")
            return 0
    result = act()
    _emit(command, result.note(), result.rows(), empty="Nothing.")
    return 0 if getattr(result, "is_verified", True) and getattr(result, "is_complete", True) else 1


def _emit(command: CommandContext, note: str, rows: Sequence[Mapping[str, Any]], *, empty: str) -> None:
    if command.as_json:
        emit_json({"note": note, "rows": list(rows)})
        return
    say(printable(note))
    emit_table(rows, empty=empty)


CARE = (health, snapshot, diff, export_, import_, forget, isolation)
