"""`loom memory list|show|events|records|search|timeline|provenance`: read memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..presentation.formats import plural
from .capture import ago
from .command_context import CommandContext, pass_command_context
from .memory_care import CARE
from .output import emit_json, emit_table, records, say

if TYPE_CHECKING:
    from ..workbench.memory_frame import MemoryFrame

_LIMIT = click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Maximum number of rows."
)
_SINCE = click.option("--since", help="How far back: 30m, 12h, 7d, 2w (default: everything).")


@click.group()
def memory() -> None:
    """AgentCore memories: events, extracted records, health, copies."""


@memory.command("list")
@pass_command_context
def list_(command: CommandContext) -> None:
    """List the account's memories."""
    with command.connect() as bench:
        _emit(command, bench.memories.table())


@memory.command()
@click.argument("name")
@click.option("--actor", help="List this actor's sessions instead of the actors.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Maximum number of rows.")
@pass_command_context
def show(command: CommandContext, name: str, actor: str | None, limit: int) -> None:
    """Show the memory NAME (a name, id or ARN): its strategies and actors."""
    with command.connect() as bench:
        target = bench.memories.get(name)
        actors_or_sessions = target.actors(limit=limit) if actor is None else target.sessions(actor, limit=limit)
    description = target.description
    strategies = [
        {
            "name": strategy.name,
            "type": strategy.type,
            "status": strategy.status,
            "namespaces": ", ".join(strategy.namespaces),
        }
        for strategy in description.strategies
    ]
    if command.as_json:
        about = {
            "id": description.memory_id,
            "arn": description.arn,
            "name": description.name,
            "status": description.status,
            "region": description.region,
            "event_expiry_days": description.event_expiry_days,
        }
        emit_json(
            {
                **about,
                "event_expiry_days": description.event_expiry_days,
                "strategies": strategies,
                "rows": records(actors_or_sessions),
            }
        )
        return
    say(
        f"{description.name} is {description.status.lower()} · {description.memory_id}"
        f" · events expire after {description.event_expiry_days} days"
    )
    emit_table(strategies, empty="No strategy: events are stored, no records are extracted.")
    _emit(command, actors_or_sessions)


@memory.command()
@click.argument("name")
@click.argument("actor", required=False)
@click.option("--session", help="Only this session of ACTOR.")
@click.option("--branch", help="A branch, including the events before it forked.")
@_SINCE
@_LIMIT
@pass_command_context
def events(
    command: CommandContext,
    name: str,
    actor: str | None,
    session: str | None,
    branch: str | None,
    since: str | None,
    limit: int,
) -> None:
    """List the events of ACTOR (default: of all actors), newest first within each session."""
    start = None if since is None else ago(since)
    with command.connect() as bench:
        _emit(command, bench.memories.get(name).events(actor, session=session, branch=branch, since=start, limit=limit))


@memory.command("records")
@click.argument("name")
@click.argument("namespace", required=False)
@click.option("--actor", help="Only this actor's records; fills {actorId} in NAMESPACE.")
@click.option("--strategy", help="Only records of this strategy (name or id).")
@_LIMIT
@pass_command_context
def records_(
    command: CommandContext, name: str, namespace: str | None, actor: str | None, strategy: str | None, limit: int
) -> None:
    """List the records of NAMESPACE and below, of an actor, or all."""
    with command.connect() as bench:
        _emit(command, bench.memories.get(name).records(namespace, actor=actor, strategy=strategy, limit=limit))


@memory.command()
@click.argument("name")
@click.argument("query")
@click.option("--namespace", help="Where to search (default: everywhere).")
@click.option("--actor", help="Only this actor's records; fills {actorId} in the namespace.")
@click.option("--top-k", type=click.IntRange(1, 100), default=10, show_default=True, help="Maximum number of records.")
@pass_command_context
def search(
    command: CommandContext, name: str, query: str, namespace: str | None, actor: str | None, top_k: int
) -> None:
    """Search the records by meaning and print them with their scores."""
    with command.connect() as bench:
        _emit(command, bench.memories.get(name).search(query, namespace, actor=actor, top_k=top_k))


@memory.command()
@click.argument("name")
@click.argument("actor")
@_SINCE
@_LIMIT
@pass_command_context
def timeline(command: CommandContext, name: str, actor: str, since: str | None, limit: int) -> None:
    """List ACTOR's events and the records extracted from them, in order of time."""
    start = None if since is None else ago(since)
    with command.connect() as bench:
        frame = bench.memories.get(name).timeline(actor, since=start, limit=limit).table()
        if command.as_json:
            _emit(command, frame)
            return
        rows = records(frame)
        visible = [row for row in rows if row["what"] != "stored state"]
        if visible and frame.note:
            say(frame.note.replace("\n", " "))
        emit_table(visible, empty=frame.note or "Nothing.")
        if hidden := len(rows) - len(visible):
            say(f"{plural(hidden, 'stored state')} of the agent in --json only")


@memory.command()
@click.argument("name")
@click.argument("record")
@pass_command_context
def provenance(command: CommandContext, name: str, record: str) -> None:
    """List the events that RECORD (its id) was extracted from, stated by the service or inferred."""
    with command.connect() as bench:
        _emit(command, bench.memories.get(name).provenance(record).table())


def _emit(command: CommandContext, frame: MemoryFrame) -> None:
    rows = records(frame)
    if command.as_json:
        emit_json(rows)
        return
    if rows and frame.note:
        say(frame.note.replace("\n", " "))
    emit_table(rows, empty=frame.note or "Nothing.")


for part in CARE:
    memory.add_command(part)

COMMANDS = (memory,)
