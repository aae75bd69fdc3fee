"""`loom workshop`: for whoever gives it, how far the learners are, and a fresh start for the next group."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from .. import local
from ..errors import LoomError
from .output import emit_json, emit_table, say
from .place import Place, pass_place

_LEARNERS = click.option(
    "--learners",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that holds the learners' homes; without it, this home alone.",
)


@click.group()
def workshop() -> None:
    """How far the learners of a workshop are, and a fresh start between two groups."""


@workshop.command("progress")
@_LEARNERS
@pass_place
def show_progress(place: Place, learners: Path | None) -> None:
    """Say which exercises of each lesson are right, learner by learner."""
    from ..workshop.homes import standing
    from ..workshop.lesson import TITLES

    found = [standing(home) for home in _homes(place, learners)]
    if place.as_json:
        emit_json([{"home": str(each.home), "right": each.right, "stuck": list(each.stuck)} for each in found])
        return
    rows = [
        {
            "learner": _name(each.home),
            **{f"lesson {number}": each.right[number] for number in TITLES},
            "tried, not right": ", ".join(each.stuck),
        }
        for each in found
    ]
    emit_table(rows, empty="No Loom homes there yet.")


@workshop.command()
@_LEARNERS
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_place
def reset(place: Place, learners: Path | None, yes: bool) -> None:
    """End the local AgentCore and delete its agents, sessions, measurements, memories and the lessons' progress.

    What is not Loom's stays: notebooks are not touched. There is no way back.
    """
    from ..workshop.homes import clear_home

    homes = _homes(place, learners)
    if not homes:
        say("nothing to reset: no Loom homes there")
        return
    if not yes:
        click.echo("\n".join(f"  {home}" for home in homes), err=True)
        click.confirm(f"Delete everything that Loom keeps in these {len(homes)} homes?", abort=True, err=True)
    done = [(local.stop(home), clear_home(home)) for home in homes]
    if place.as_json:
        emit_json([{"ended": ended, **asdict(each)} for ended, each in done])
        return
    for _, each in done:
        kept = f"; not Loom's, kept: {', '.join(each.kept)}" if each.kept else ""
        say(f"{each.home}: begun anew{kept}")


def _homes(place: Place, learners: Path | None) -> list[Path]:
    from ..workshop.homes import is_home, learner_homes

    if place.where != "local":
        raise LoomError("A workshop's homes are local", on=place.where, try_="without --where")
    if learners is not None:
        return learner_homes(learners.absolute())
    return [place.settings.home] if is_home(place.settings.home) else []


def _name(home: Path) -> str:
    return home.parent.name if home.name == ".loom" else home.name


COMMANDS = (workshop,)
