"""A command with the common options: --json, --home, --where."""

from __future__ import annotations

import click

from loomlib.cli import Place, emit_json, pass_place


@click.command("example-hello")
@click.option("--fail", is_flag=True)
@pass_place
def hello(place: Place, fail: bool) -> None:
    """Greet, and count the agents of this place."""
    if fail:
        raise RuntimeError("on purpose")
    with place.connect() as bench:
        count = len(bench.agents())
    if place.as_json:
        emit_json({"agents": count})
    else:
        click.echo(f"Hello, {count} agents")
