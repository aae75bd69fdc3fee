"""`loom agents`: the catalog, its groups, and its export and import."""

from __future__ import annotations

from pathlib import Path

import click

from ..presentation.formats import plural
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, records, say


@click.group(invoke_without_command=True)
@click.option("--refresh", is_flag=True, help="Read each agent's current state and tags from the service first.")
@click.option("--group", help="Only the agents of this group.")
@click.option("--tag", "tags", multiple=True, metavar="NAME=VALUE", help="Only agents with this tag; repeatable.")
@click.pass_context
def agents(context: click.Context, refresh: bool, group: str | None, tags: tuple[str, ...]) -> None:
    """List the agents in the catalog, or export, import and group them."""
    if context.invoked_subcommand is not None:
        if refresh or group or tags:
            raise click.UsageError("--refresh, --group and --tag belong to the list: loom agents --group team-a")
        return
    command = context.find_object(CommandContext)
    assert command is not None
    with command.connect() as bench:
        frame = bench.agents(group=group, tags=dict(_pair(text) for text in tags), refresh=refresh)
    empty = "No agents yet. `loom deploy calculator` deploys one in a few seconds."
    rows = records(frame)
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="No agent has these tags." if tags else "The group has no agents." if group else empty)


@agents.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--group", help="Only the agents of this group.")
@pass_command_context
def export(command: CommandContext, file: Path, group: str | None) -> None:
    """Write the catalog to FILE as JSON: ARNs, endpoints, tags, groups, forms of messages; no secrets."""
    with command.connect() as bench:
        bench.groups.export_file(file, group=group)
        count = len(bench.agents(group=group))
    if command.as_json:
        emit_json({"file": str(file), "agents": count})
    else:
        say(f"wrote {plural(count, 'agent')} to {file}")


@agents.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@pass_command_context
def import_(command: CommandContext, file: Path) -> int:
    """Register the agents of FILE, which `loom agents export` wrote; exit code 1 when one cannot be registered."""
    with command.connect() as bench:
        result = bench.groups.import_file(file, progress=say)
    rows = records(result.table())
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="The file has no agents.")
        say(result.sentence())
    return 1 if result.failed else 0


@agents.command()
@pass_command_context
def groups(command: CommandContext) -> None:
    """List the groups of agents."""
    with command.connect() as bench:
        rows = records(bench.groups.table())
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="No groups yet. `loom agents group team-a AGENT…` creates one.")


@agents.command()
@click.argument("name")
@click.argument("members", nargs=-1, required=True, metavar="AGENT...")
@click.option("--remove", is_flag=True, help="Take the agents out of the group.")
@pass_command_context
def group(command: CommandContext, name: str, members: tuple[str, ...], remove: bool) -> None:
    """Put agents into the group NAME, or take them out of it."""
    with command.connect() as bench:
        if remove:
            bench.groups.remove(name, *members)
        else:
            bench.groups.add(name, *members)
        rows = [row for row in records(bench.groups.table()) if row["group"] == name]
    if command.as_json:
        emit_json(rows[0] if rows else {"group": name, "agents": 0, "names": ""})
    else:
        say(f"{name}: {rows[0]['names'] if rows else 'no agents'}")


@click.command()
@click.argument("agent")
@click.argument("tags", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--remove", "names", multiple=True, metavar="NAME", help="Remove this tag; repeatable.")
@pass_command_context
def tag(command: CommandContext, agent: str, tags: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Show the tags of AGENT's runtime, after adding those given."""
    with command.connect() as bench:
        target = bench.agent(agent).releases.tags
        if tags:
            target.set(dict(_pair(text) for text in tags))
        current_tags = target.remove(*names) if names else target.read()
    if command.as_json:
        emit_json(current_tags)
    else:
        emit_table([{"tag": name, "value": value} for name, value in sorted(current_tags.items())], empty="No tags.")


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value


COMMANDS = (agents, tag)
