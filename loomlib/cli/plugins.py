"""`loom plugins`: list installed plugins and create new ones."""

from __future__ import annotations

import click

from ..plugins import find_plugins, make_plugin
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, printable, say


@click.group(invoke_without_command=True)
@click.pass_context
@pass_command_context
def plugins(command: CommandContext, context: click.Context) -> int:
    """List plugins, Loom's own included: what each provides, and how to fix a broken one.

    Exit code 1: a plugin is broken.
    """
    if context.invoked_subcommand is not None:
        return 0
    lines = find_plugins().check().lines()
    if command.as_json:
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
        emit_table(rows, empty="No plugins. A distribution provides one through the entry-point group loom.plugins.")
        for line in lines:
            for problem in line.problems:
                text = f"{problem.distribution} {problem.version} ({problem.target}): {problem.error}"
                say(f"broken: {printable(text)}")
                say(f"  fix: {printable(problem.fix)}")
    return 1 if any(line.problems for line in lines) else 0


@plugins.command()
@click.argument("name")
@click.option(
    "--to", default=".", show_default=True, type=click.Path(file_okay=False), help="Create it in this folder."
)
@pass_command_context
def new(command: CommandContext, name: str, to: str) -> None:
    """Create a plugin called NAME: a distribution with an evaluator, a command and passing tests."""
    project = make_plugin(name, to)
    if command.as_json:
        emit_json({"folder": str(project.folder), "distribution": project.distribution, "module": project.module})
        return
    say(f"{project.folder} is a plugin with an evaluator, a command and tests")
    say(f"next: pip install -e {project.folder} && pytest {project.folder} && loom plugins")


COMMANDS = (plugins,)
