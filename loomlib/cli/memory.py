"""Commands that look into memories: `loom memory list|show|events|records|search|timeline|provenance`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .capture import ago
from .memory_care import CARE
from .output import emit_json, emit_table, records, say
from .place import Place, pass_place

if TYPE_CHECKING:
    from ..workbench.memory_frame import MemoryFrame

_LIMIT = click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows at most.")
_SINCE = click.option("--since", help="How far back: 30m, 12h, 7d, 2w (else everything).")


@click.group()
def memory() -> None:
    """What agents remember: memories, their events, and the records extracted from them."""


@memory.command("list")
@pass_place
def list_(place: Place) -> None:
    """The memories of the account."""
    with place.connect() as bench:
        _emit(place, bench.memories.table())


@memory.command()
@click.argument("name")
@click.option("--actor", help="List this actor's sessions instead of the actors.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows at most.")
@pass_place
def show(place: Place, name: str, actor: str | None, limit: int) -> None:
    """The memory NAME (a name, id or ARN): strategies with their namespaces, and who has events in it."""
    with place.connect() as bench:
        found = bench.memories.get(name)
        people = found.actors(limit=limit) if actor is None else found.sessions(actor, limit=limit)
    told = found.description
    strategies = [
        {"name": each.name, "type": each.type, "status": each.status, "namespaces": ", ".join(each.namespaces)}
        for each in told.strategies
    ]
    if place.as_json:
        about = {"id": told.memory_id, "arn": told.arn, "name": told.name, "status": told.status, "region": told.region}
        emit_json(
            {**about, "event_expiry_days": told.event_expiry_days, "strategies": strategies, "rows": records(people)}
        )
        return
    say(f"{told.name} is {told.status.lower()} · {told.memory_id} · events expire after {told.event_expiry_days} days")
    emit_table(strategies, empty="no strategy: events are kept, nothing is extracted")
    _emit(place, people)


@memory.command()
@click.argument("name")
@click.argument("actor", required=False)
@click.option("--session", help="One session of ACTOR alone.")
@click.option("--branch", help="A branch, with what was said before it forked.")
@_SINCE
@_LIMIT
@pass_place
def events(
    place: Place, name: str, actor: str | None, session: str | None, branch: str | None, since: str | None, limit: int
) -> None:
    """The events of ACTOR (of everybody, when none is named), each session's newest first."""
    start = None if since is None else ago(since)
    with place.connect() as bench:
        _emit(place, bench.memories.get(name).events(actor, session=session, branch=branch, since=start, limit=limit))


@memory.command("records")
@click.argument("name")
@click.argument("namespace", required=False)
@click.option("--actor", help="Whose; fills {actorId} in NAMESPACE.")
@click.option("--strategy", help="Of one strategy alone (its name or id).")
@_LIMIT
@pass_place
def records_(
    place: Place, name: str, namespace: str | None, actor: str | None, strategy: str | None, limit: int
) -> None:
    """The records of NAMESPACE and below, of an actor, or all."""
    with place.connect() as bench:
        _emit(place, bench.memories.get(name).records(namespace, actor=actor, strategy=strategy, limit=limit))


@memory.command()
@click.argument("name")
@click.argument("query")
@click.option("--namespace", help="Where to search (else everywhere).")
@click.option("--actor", help="Whose; fills {actorId} in the namespace.")
@click.option("--top-k", type=click.IntRange(1, 100), default=10, show_default=True, help="Records at most.")
@pass_place
def search(place: Place, name: str, query: str, namespace: str | None, actor: str | None, top_k: int) -> None:
    """The records nearest in meaning to QUERY, with their scores."""
    with place.connect() as bench:
        _emit(place, bench.memories.get(name).search(query, namespace, actor=actor, top_k=top_k))


@memory.command()
@click.argument("name")
@click.argument("actor")
@_SINCE
@_LIMIT
@pass_place
def timeline(place: Place, name: str, actor: str, since: str | None, limit: int) -> None:
    """What ACTOR said and what was extracted from it, in the order of time."""
    start = None if since is None else ago(since)
    with place.connect() as bench:
        _emit(place, bench.memories.get(name).timeline(actor, since=start, limit=limit).table())


@memory.command()
@click.argument("name")
@click.argument("record")
@pass_place
def provenance(place: Place, name: str, record: str) -> None:
    """The events that RECORD (its id) came from: as told by the service, else inferred."""
    with place.connect() as bench:
        _emit(place, bench.memories.get(name).provenance(record).table())


def _emit(place: Place, found: MemoryFrame) -> None:
    rows = records(found)
    if place.as_json:
        emit_json(rows)
        return
    if rows and found.note:
        say(found.note.replace("\n", " "))
    emit_table(rows, empty=found.note or "nothing")


for command in CARE:
    memory.add_command(command)

COMMANDS = (memory,)
