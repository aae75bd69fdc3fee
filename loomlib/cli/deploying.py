"""The command that deploys: its plan, its execution, and the file that describes it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from ..aws.authorizers import JwtAuthorizer
from ..errors import LoomError
from .agents import about_agent
from .command_context import CommandContext, pass_command_context
from .output import emit_json, printable, say, seconds_since

if TYPE_CHECKING:
    from ..workbench import Workbench
    from ..workbench.agent_plan import AgentPlan


@click.command()
@click.argument("what")
@click.option("--name", help="Name of the runtime (default: the blueprint's or the folder's).")
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Environment variable of the agent; repeatable."
)
@click.option("--platform", "platform_version", help="V1 boots each session, V2 restores it from a snapshot.")
@click.option(
    "--warmup",
    metavar="PATH",
    help="Path, or :PORT/PATH, that is called once before a version's snapshot is taken (V2).",
)
@click.option(
    "--idle-timeout", "idle_timeout_s", type=click.IntRange(min=1), help="Seconds until an idle session ends."
)
@click.option("--max-lifetime", "max_lifetime_s", type=click.IntRange(min=1), help="Seconds until any session ends.")
@click.option("--protocol", help="Protocol of the agent's server: HTTP (default), MCP, A2A or AGUI.")
@click.option("--storage", metavar="PATH", help="Folder below /mnt that is kept when a session is stopped.")
@click.option(
    "--authorizer",
    metavar="local|URL",
    help='Accept bearer tokens instead of signed requests: those of the local issuer ("local"), or those of the '
    "issuer at this discovery URL, with --allow-client or --allow-audience.",
)
@click.option("--allow-client", "clients", multiple=True, help="An allowed client_id; repeatable.")
@click.option("--allow-audience", "audience", multiple=True, help="An allowed aud; repeatable.")
@click.option(
    "--allow-scope", "scopes", multiple=True, help="A scope; a token needs at least one of those given. Repeatable."
)
@click.option(
    "--role",
    metavar="own|ARN",
    help='Role that the agent runs as: "own" for one with only the permissions that it uses (the default on AWS).',
)
@click.option(
    "--plan", "only_plan", is_flag=True, help="Print what would be created and changed, and its cost; create nothing."
)
@click.option("--template", is_flag=True, help="Print a CloudFormation template of the deployment; create nothing.")
@click.option("--rollback", is_flag=True, help="Undo an interrupted deployment of the agent.")
@click.option("--no-file", is_flag=True, help="Do not write a loom-agent.toml next to the code if there is none.")
@click.option(
    "--where",
    type=click.Choice(["local", "aws"]),
    help="Where to deploy (default: the value given before the command).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_command_context
def deploy(
    command: CommandContext,
    what: str,
    name: str | None,
    variables: tuple[str, ...],
    platform_version: str | None,
    warmup: str | None,
    idle_timeout_s: int | None,
    max_lifetime_s: int | None,
    protocol: str | None,
    storage: str | None,
    authorizer: str | None,
    clients: tuple[str, ...],
    audience: tuple[str, ...],
    scopes: tuple[str, ...],
    role: str | None,
    only_plan: bool,
    template: bool,
    rollback: bool,
    no_file: bool,
    where: str | None,
    as_json: bool,
) -> None:
    """Deploy WHAT: a blueprint's name, or the path of an agent.py or its folder.

    Settings in a loom-agent.toml next to the code apply where no option is given. Without such a file, it is written.
    """
    command = replace(command, where=where or command.where, as_json=as_json or command.as_json)
    environment = dict(_pair(text) for text in variables)
    progress = ChangedLines() if command.where == "aws" else None
    with command.connect() as bench:
        if rollback:
            _roll_back(command, bench, what, name)
            return
        start = time.perf_counter()
        plan = bench.plan(
            what,
            name=name,
            environment=environment,
            platform_version=platform_version,
            warmup=warmup,
            idle_timeout_s=idle_timeout_s,
            max_lifetime_s=max_lifetime_s,
            protocol=protocol,
            storage=storage,
            authorizer=_authorizer(authorizer, clients, audience, scopes),
            role=role,
            progress=progress,
        )
        if template:
            document = plan.template()
            click.echo(document.json() if command.as_json else document.yaml(), nl=False)
        elif only_plan:
            _print_plan(command, plan)
        else:
            agent = plan.apply(progress=progress)
            if not no_file:
                _write_file(plan, environment)
            if command.as_json:
                emit_json(about_agent(agent))
            else:
                say(f"deployed {what} → {agent.entry.runtime_id}  ({agent.status} in {seconds_since(start)})")


class ChangedLines:
    """Prints lines of progress, a line that repeats once."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, line: str) -> None:
        """Print a line that differs from the last one."""
        if line != self._last:
            self._last = line
            say(line)


def _print_plan(command: CommandContext, plan: AgentPlan) -> None:
    if command.as_json:
        emit_json(plan.to_dict())
    else:
        click.echo(printable(repr(plan)))


def _roll_back(command: CommandContext, bench: Workbench, source: str, name: str | None) -> None:
    from ..workbench.planning import roll_back

    sentences = roll_back(bench.context, source, {"name": name}, report=ChangedLines())
    if command.as_json:
        emit_json({"undone": sentences})
        return
    for sentence in sentences or ["there is nothing to undo: no deployment of this agent was interrupted"]:
        say(sentence)


def _write_file(plan: AgentPlan, environment: dict[str, str]) -> None:
    """Write a loom-agent.toml beside the code, unless it has one or the code is a blueprint."""
    if not plan.may_have_file or plan.file is not None:
        return
    try:
        file, left_out = plan.write_file(environment)
    except LoomError as error:
        say(f"no loom-agent.toml was written: {error}")
        return
    say(f"wrote {file}: the next `loom deploy` reads it; --no-file writes none")
    if left_out:
        say(f"left out of it, as they look like secrets: {', '.join(left_out)}")


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--env")
    return name, value


def _authorizer(
    address: str | None, clients: tuple[str, ...], audience: tuple[str, ...], scopes: tuple[str, ...]
) -> JwtAuthorizer | Literal["local"] | None:
    if address is None or address == "local":
        if clients or audience or scopes:
            raise click.UsageError("--allow-client, --allow-audience and --allow-scope belong to --authorizer URL")
        return None if address is None else "local"
    if not (clients or audience or scopes):
        raise click.UsageError("--authorizer URL needs --allow-client, --allow-audience or --allow-scope")
    return JwtAuthorizer(discovery_url=address, clients=clients, audience=audience, scopes=scopes)


COMMANDS = (deploy,)
