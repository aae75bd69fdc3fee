"""`loom bedrock-agents list|snapshot|generate`: take stock of agents of Bedrock Agents ("Classic"), and import one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from ..presentation.formats import plural
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, printable, records, say

if TYPE_CHECKING:
    from ..imports.bedrock_agents import ImportedAgent

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_STATES = ("kept", "approximated", "lost", "needs you")


@click.group("bedrock-agents")
def bedrock_agents() -> None:
    """Agents of Bedrock Agents ("Classic"): take stock of them, and import one."""


@bedrock_agents.command("list")
@_JSON
@pass_command_context
def list_(command: CommandContext, as_json: bool) -> None:
    """List the account's agents, how many of their features an import would keep, and which need a manual step."""
    with command.connect() as bench:
        rows = records(bench.bedrock_agents())
    if command.as_json or as_json:
        emit_json(rows)
    else:
        emit_table([_line(row) for row in rows], empty="No Bedrock agents in this account and region.")


@bedrock_agents.command()
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--alias", default="live", show_default=True, help="The alias to read, or DRAFT.")
@_JSON
@pass_command_context
def snapshot(command: CommandContext, name: str, folder: str, alias: str, as_json: bool) -> None:
    """Read the agent NAME (a name, id or ARN) with its collaborators, without secrets, into FOLDER."""
    with command.connect() as bench:
        snapshot = bench.bedrock.agents.get(name).snapshot(alias)
        path = snapshot.write(folder)
    if command.as_json or as_json:
        emit_json(
            {
                "folder": str(path),
                "agent": snapshot.agent.name,
                "version": snapshot.agent.version,
                "is_immutable": snapshot.value.is_immutable,
                "digest": snapshot.digest,
                "features": records(snapshot.features()),
                "notes": snapshot.value.notes,
                "redactions": _redactions(snapshot.agent),
            }
        )
        return
    for feature in snapshot.value.features:
        if feature.state != "unused":
            say(f"{feature.name.replace('_', ' ')} · {feature.label} · {printable(feature.reason)}")
    for note in snapshot.value.notes:
        say(printable(note))
    if removed := sum(_redactions(snapshot.agent).values()):
        say(f"{plural(removed, 'secret')} removed from its texts")
    agents = plural(len(list(snapshot.agent.walk())), "agent")
    say(
        f"{printable(snapshot.agent.name)}, version {snapshot.agent.version} · {agents} · "
        f"{snapshot.digest[:19]} → {path}"
    )


@bedrock_agents.command()
@click.argument("name")
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--framework", type=click.Choice(["strands", "langgraph"]), default="strands", show_default=True)
@click.option("--alias", default="live", show_default=True, help="The alias to read, or DRAFT.")
@_JSON
@pass_command_context
def generate(
    command: CommandContext,
    name: str,
    folder: str,
    framework: Literal["strands", "langgraph"],
    alias: str,
    as_json: bool,
) -> None:
    """Write the code of the agent NAME for AgentCore into FOLDER, and keep what was edited there.

    Nothing is written to AWS. Exit code 1: a file has a conflict that you must resolve.
    """
    with command.connect() as bench:
        code = bench.bedrock.agents.get(name).generate(folder, framework, alias=alias)
    if command.as_json or as_json:
        emit_json(
            {
                "folder": str(code.folder),
                "name": code.name,
                "framework": framework,
                "digest": code.value.digest,
                "files": dict(code.written.files),
                "conflicts": list(code.conflicts),
            }
        )
    else:
        say(repr(code))
    if code.conflicts:
        raise click.exceptions.Exit(1)


def _line(row: Mapping[str, Any]) -> dict[str, Any]:
    from ..imports.bedrock_agents.features import FEATURE_NAMES

    states = {name: row[name] for name in FEATURE_NAMES}
    counts = {state: list(states.values()).count(state) for state in _STATES[:-1]}
    needing = ", ".join(name.replace("_", " ") for name, state in states.items() if state == "needs you")
    about = {name: row[name] for name in ("name", "id", "status", "version", "aliases")}
    return {**about, **counts, "manual steps": row["problem"] or needing}


def _redactions(agent: ImportedAgent) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in agent.walk():
        for rule, count in item.redactions.items():
            counts[rule] = counts.get(rule, 0) + count
    return counts


COMMANDS = (bedrock_agents,)
