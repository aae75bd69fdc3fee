"""`loom check snapshot`: what an agent creates at start-up that restored sessions must not share."""

from __future__ import annotations

import click

from .command_context import CommandContext, pass_command_context
from .output import emit_json, printable, say


@click.group()
def check() -> None:
    """Check an agent before it is deployed."""


@check.command()
@click.argument("agent")
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Environment variable of the agent; repeatable."
)
@click.option("--warmup", help="Path, or :PORT/PATH, of the warm-up hook, which is called before the snapshot.")
@pass_command_context
def snapshot(command: CommandContext, agent: str, variables: tuple[str, ...], warmup: str | None) -> int:
    """Find what sessions of AGENT would share when they are restored from a snapshot (platform V2).

    AGENT is a folder, an agent.py, a blueprint's name, or an agent of the catalog. It is started twice in the sandbox
    of the local AgentCore, and two copies of the process are compared. Exit code 1: something was found.
    """
    environment: dict[str, str] = {}
    for text in variables:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--env")
        environment[name] = value
    with command.connect() as bench:
        report = bench.tools.check_snapshot(agent, environment=environment, warmup=warmup, progress=say)
    if command.as_json:
        emit_json(report.to_dict())
        return 0 if report.is_safe else 1
    for finding in report.findings:
        click.echo(printable(f"{finding.where}  {finding.kind}: {finding.what}"))
        if finding.source:
            click.echo(printable(f"    {finding.source}"))
        location = f", kept in {', '.join(finding.paths)}" if finding.paths else ""
        click.echo(printable(f"    made by {finding.made_by or 'an unknown call'}{location}"))
        click.echo(printable(f"    {finding.fix}"))
    say(printable(f"{report.name}: {report.note()}"))
    return 0 if report.is_safe else 1


COMMANDS = (check,)
