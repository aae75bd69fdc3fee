"""Commands for triggers, which invoke an agent automatically: `loom trigger list` and `loom trigger fire`."""

from __future__ import annotations

import click

from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, printable, records


@click.group()
def trigger() -> None:
    """List the triggers of an agent, and fire one by hand."""


@trigger.command("list")
@click.argument("folder")
@pass_command_context
def list_triggers(command: CommandContext, folder: str) -> None:
    """List the triggers in the loom-agent.toml of FOLDER, and whether they are deployed."""
    with command.connect() as bench:
        rows = records(bench.tools.triggers(folder).table())
    if command.as_json:
        emit_json(rows)
        return
    emit_table(rows, empty="This agent has no triggers: add [[trigger]] with schedule or s3 to its loom-agent.toml.")


@trigger.command()
@click.argument("folder")
@click.argument("name")
@click.option("--key", default="", help="Key of the new object, for a trigger of S3.")
@click.option("--size", type=click.IntRange(min=0), default=0, help="Size of the object in bytes.")
@pass_command_context
def fire(command: CommandContext, folder: str, name: str, key: str, size: int) -> None:
    """Fire the trigger NAME of the agent in FOLDER now: it sends what the schedule or the event would send."""
    with command.connect() as bench:
        fired = bench.tools.triggers(folder).fire(name, key=key, size=size)
    value = fired.value
    if command.as_json:
        emit_json(
            {
                "trigger": value.trigger,
                "session_id": value.session_id,
                "payload": dict(value.payload),
                "answer": value.answer,
                "through": value.through,
            }
        )
        return
    click.echo(printable(repr(fired)))


COMMANDS: tuple[click.Command, ...] = (trigger,)
