"""Commands that keep a memory in order: `loom memory health|snapshot|diff|export|import|forget|isolation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from .output import emit_json, emit_table, is_terminal, printable, say
from .place import Place, pass_place

_FILE = click.Path(dir_okay=False)
_THERE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("name")
@click.option("--allow", "allow", multiple=True, help="Personal data that may be there, such as email; repeatable.")
@click.option("--presidio", is_flag=True, help="Presidio's recognisers too (names, places).")
@click.option("--all", "everything", is_flag=True, help="Read everything, not the first 20,000 records and events.")
@click.option(
    "--fail-on", type=click.Choice(["problem", "warning"]), help="Exit code 2 when there is one (a warning: or worse)."
)
@pass_place
def health(
    place: Place, name: str, allow: tuple[str, ...], presidio: bool, everything: bool, fail_on: str | None
) -> int:
    """What should be mended in the memory NAME, with evidence in which secrets are struck out."""
    limits: dict[str, Any] = {"records": None, "events": None} if everything else {}
    with place.connect() as bench:
        found = bench.memories.get(name).health(allow=allow, presidio=presidio, **limits)
    if place.as_json:
        growth = found.growth.row() if found.growth else None
        emit_json({"sentence": found.sentence(), "healthy": found.is_healthy, "growth": growth, "rows": found.rows()})
    else:
        say(printable(found.note()))
        rows = [{key: row[key] for key in ("severity", "kind", "what", "ids", "mend")} for row in found.rows()]
        emit_table(rows, empty="nothing to mend")
    missed = found.problems if fail_on == "problem" else () if fail_on is None or found.is_healthy else found.findings
    return 2 if missed else 0


@click.command()
@click.argument("name")
@click.argument("path", type=_FILE)
@click.option("--no-events", is_flag=True, help="Records alone: counting events takes a call for each session.")
@pass_place
def snapshot(place: Place, name: str, path: str, no_events: bool) -> None:
    """Keep what the memory NAME holds now in the file PATH, without secrets, to compare it later."""
    with place.connect() as bench:
        taken = bench.memories.get(name).snapshot(events=not no_events)
        taken.save(path)
    counts = {"path": path, "records": len(taken.records), "events": sum((taken.events or {}).values())}
    if place.as_json:
        emit_json(counts)
    else:
        say(f"kept {counts['records']:,} records and {counts['events']:,} events in {path}")


@click.command()
@click.argument("name")
@click.argument("before", type=_THERE)
@click.argument("after", type=_THERE, required=False)
@pass_place
def diff(place: Place, name: str, before: str, after: str | None) -> None:
    """What changed in the memory NAME between the snapshots BEFORE and AFTER (now, when none is named)."""
    with place.connect() as bench:
        found = bench.memories.get(name).diff(before, after)
    _emit(place, found.note(), found.rows(), empty="no record changed")


@click.command("export")
@click.argument("name")
@click.argument("path", type=_FILE)
@click.option("--actor", "actors", multiple=True, help="This actor's alone; repeatable.")
@click.option("--no-redaction", is_flag=True, help="Keep secrets and personal data: guard the file.")
@pass_place
def export_(place: Place, name: str, path: str, actors: tuple[str, ...], no_redaction: bool) -> None:
    """Write events and records of the memory NAME to PATH as JSON lines, secrets and personal data struck out."""
    with place.connect() as bench:
        done = bench.memories.get(name).export(path, actors=actors or None, redact=not no_redaction)
    _emit(place, done.note(), done.rows(), empty="nothing")


@click.command("import")
@click.argument("name")
@click.argument("path", type=_THERE)
@click.option("--yes", is_flag=True, help="Write, without being asked.")
@click.option("--extract", is_flag=True, help="Let strategies see the events, beside the imported records.")
@pass_place
def import_(place: Place, name: str, path: str, yes: bool, extract: bool) -> int:
    """Bring the export PATH into the memory NAME: shown first, written once confirmed."""
    with place.connect() as bench:
        preview = bench.memories.get(name).import_(path)
        return _confirmed(place, preview, yes, "Write this?", lambda: preview.confirm(extract=extract))


@click.command()
@click.argument("name")
@click.argument("actor")
@click.option("--yes", is_flag=True, help="Delete, without being asked.")
@pass_place
def forget(place: Place, name: str, actor: str, yes: bool) -> int:
    """Delete everything of ACTOR in the memory NAME: shown first, deleted once confirmed, looked for again after."""
    with place.connect() as bench:
        preview = bench.memories.get(name).forget(actor)
        if not preview.parts:
            _emit(place, preview.note(), [], empty="nothing to delete")
            return 0
        return _confirmed(place, preview, yes, "Delete this? There is no way back.", preview.confirm)


@click.command()
@click.argument("name")
@click.option("--pattern", "patterns", multiple=True, help="A namespace with placeholders (else the memory's own).")
@click.option("--actors", type=click.IntRange(2, 200), default=12, show_default=True, help="How many try.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws other ids.")
@click.option("--slashes", is_flag=True, help="Ids may have slashes.")
@pass_place
def isolation(place: Place, name: str, patterns: tuple[str, ...], actors: int, seed: int, slashes: bool) -> int:
    """Whether reads of the memory NAME cross from one actor or tenant to another (exit code 2 when they do).

    Writes into a scratch namespace with scratch actors, and takes all of it away.
    """
    with place.connect() as bench:
        found = bench.memories.get(name).check_isolation(patterns or None, actors=actors, seed=seed, slashes=slashes)
    _emit(place, found.sentence(), found.rows(), empty="no read crossed")
    return 0 if found.is_isolated else 2


def _confirmed(place: Place, preview: Any, yes: bool, question: str, act: Callable[[], Any]) -> int:
    """Show a preview, ask, act. Where nobody can be asked, only `--yes` is a yes."""
    if not yes:
        _emit(place, preview.note(), preview.rows(), empty="nothing")
        if place.as_json or not is_terminal():
            say("nothing was done: add --yes to do it")
            return 0
        if not click.confirm(question, default=False):
            say("nothing was done")
            return 0
    done = act()
    _emit(place, done.note(), done.rows(), empty="nothing")
    return 0 if getattr(done, "is_verified", True) and getattr(done, "is_complete", True) else 1


def _emit(place: Place, note: str, rows: Sequence[Mapping[str, Any]], *, empty: str) -> None:
    if place.as_json:
        emit_json({"note": note, "rows": list(rows)})
        return
    say(printable(note))
    emit_table(rows, empty=empty)


CARE = (health, snapshot, diff, export_, import_, forget, isolation)
