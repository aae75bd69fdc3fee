"""`loom plugins` lists what is plugged in and what is broken; `loom plugins new` makes a plugin to start from."""

from __future__ import annotations

import click

from ..plugins import find_plugins, make_plugin
from .output import emit_json, emit_table, printable, say
from .place import Place, pass_place


@click.group(invoke_without_command=True)
@click.pass_context
@pass_place
def plugins(place: Place, context: click.Context) -> int:
    """List plugins, Loom's own among them: what each offers, and for a broken one its error and how to fix it.

    Exit code 1 when one is broken.
    """
    if context.invoked_subcommand is not None:
        return 0
    lines = find_plugins().check().lines()
    if place.as_json:
        emit_json({"plugins": [line.record() for line in lines]})
    else:
        rows = [
            {
                "distribution": printable(line.distribution),
                "version": printable(line.version),
                "target": printable(line.target),
                "status": line.status,
                "offers": printable(line.summary()),
            }
            for line in lines
        ]
        emit_table(rows, empty="No plugins. A distribution offers one through the entry-point group loom.plugins.")
        for line in lines:
            for problem in line.problems:
                said = f"{problem.distribution} {problem.version} ({problem.target}): {problem.error}"
                say(f"broken: {printable(said)}")
                say(f"  fix: {printable(problem.fix)}")
    return 1 if any(line.problems for line in lines) else 0


@plugins.command()
@click.argument("name")
@click.option("--to", default=".", show_default=True, type=click.Path(file_okay=False), help="Make it in this folder.")
@pass_place
def new(place: Place, name: str, to: str) -> None:
    """Make a plugin called NAME: a distribution with an evaluator, a command, and tests that pass."""
    made = make_plugin(name, to)
    if place.as_json:
        emit_json({"folder": str(made.folder), "distribution": made.distribution, "module": made.module})
        return
    say(f"{made.folder} is a plugin with an evaluator, a command and tests")
    say(f"next: pip install -e {made.folder} && pytest {made.folder} && loom plugins")


COMMANDS = (plugins,)
