"""`loom workshop`: the learners' progress, and a reset for the next group."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from .. import local
from ..errors import LoomError
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, say

_LEARNERS = click.option(
    "--learners",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the learners' home folders (default: this home folder only).",
)


@click.group()
def workshop() -> None:
    """Learners' progress in the workshop, and a reset between two groups."""


@workshop.command("progress")
@_LEARNERS
@pass_command_context
def show_progress(command: CommandContext, learners: Path | None) -> None:
    """Show how many exercises of each lesson every learner has solved."""
    from ..workshop.homes import standing
    from ..workshop.lesson import TITLES

    results = [standing(home) for home in _homes(command, learners)]
    if command.as_json:
        emit_json(
            [{"home": str(result.home), "right": result.right, "stuck": list(result.stuck)} for result in results]
        )
        return
    rows = [
        {
            "learner": _name(result.home),
            **{f"lesson {number}": result.right[number] for number in TITLES},
            "tried, not solved": ", ".join(result.stuck),
        }
        for result in results
    ]
    emit_table(rows, empty="No Loom home folders there yet.")


@workshop.command()
@_LEARNERS
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_command_context
def reset(command: CommandContext, learners: Path | None, yes: bool) -> None:
    """Stop the local AgentCore and delete its agents, sessions, measurements, memories and progress.

    Measurements include those exported to `history` in the home folder. Notebooks and other files stay. This cannot be
    undone.
    """
    from ..workshop.homes import clear_home

    homes = _homes(command, learners)
    if not homes:
        say("Nothing to reset: no Loom home folders there.")
        return
    if not yes:
        click.echo("\n".join(f"  {home}" for home in homes), err=True)
        click.confirm(f"Delete everything that Loom stores in these {len(homes)} home folders?", abort=True, err=True)
    results = [(local.stop(home), clear_home(home)) for home in homes]
    if command.as_json:
        emit_json([{"ended": ended, **asdict(summary)} for ended, summary in results])
        return
    for _, summary in results:
        remaining = f"; other files were kept: {', '.join(summary.kept)}" if summary.kept else ""
        say(f"{summary.home}: reset{remaining}")


def _homes(command: CommandContext, learners: Path | None) -> list[Path]:
    from ..workshop.homes import is_home, learner_homes

    if command.where != "local":
        raise LoomError("A workshop runs locally", on=command.where, try_="without --where")
    if learners is not None:
        return learner_homes(learners.absolute())
    return [command.settings.home] if is_home(command.settings.home) else []


def _name(home: Path) -> str:
    return home.parent.name if home.name == ".loom" else home.name


COMMANDS = (workshop,)
