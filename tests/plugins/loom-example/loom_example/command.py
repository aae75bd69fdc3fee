"""A command with the common options: --json, --home, --where."""

from __future__ import annotations

import click

from loomlib.cli import CommandContext, emit_json, pass_command_context


@click.command("example-hello")
@click.option("--fail", is_flag=True)
@pass_command_context
def hello(command: CommandContext, fail: bool) -> None:
    """Greet, and count the agents of this command."""
    if fail:
        raise RuntimeError("on purpose")
    with command.connect() as bench:
        count = len(bench.agents())
    if command.as_json:
        emit_json({"agents": count})
    else:
        click.echo(f"Hello, {count} agents")
