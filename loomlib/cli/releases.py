"""Commands about versions and endpoints: versions, endpoints, promote, rollback, diff, ab-tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..presentation.text import printable
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, records, say

if TYPE_CHECKING:
    import pandas as pd

    from ..workbench.agent_releases import AgentEndpoint


@click.command()
@click.argument("agent")
@pass_command_context
def versions(command: CommandContext, agent: str) -> None:
    """List the versions of AGENT: state, code, and the endpoints that serve them."""
    with command.connect() as bench:
        _emit(command, bench.agent(agent).versions(), empty="This agent has no versions.")


@click.command()
@click.argument("agent")
@click.option("--history", is_flag=True, help="List what the endpoints served, newest first, as far as Loom knows.")
@pass_command_context
def endpoints(command: CommandContext, agent: str, history: bool) -> None:
    """List the endpoints of AGENT: the version that each serves, and the one before."""
    with command.connect() as bench:
        releases = bench.agent(agent).releases
        table = releases.history() if history else releases.endpoints()
        _emit(command, table, empty="Loom has not changed an endpoint of this agent yet.")


@click.command()
@click.argument("agent")
@click.argument("names", nargs=-1, required=True, metavar="[SOURCE] ENDPOINT")
@click.option("--version", type=click.IntRange(min=1), help="Version for ENDPOINT to serve, in place of SOURCE.")
@pass_command_context
def promote(command: CommandContext, agent: str, names: tuple[str, ...], version: int | None) -> None:
    """Make ENDPOINT of AGENT serve the version that SOURCE serves, or a given version.

    Such as `loom promote support staging prod`. Waits until the endpoint serves it. An endpoint that does not exist is
    created; an endpoint never switches to a version that is not READY.
    """
    *sources, endpoint = [*names]
    if len(sources) > 1 or bool(sources) == (version is not None):
        raise click.UsageError("Give SOURCE and ENDPOINT, or ENDPOINT and --version.")
    with command.connect() as bench:
        target = bench.agent(agent).releases
        served = {str(row["endpoint"]): str(row["version"]) for row in records(target.endpoints())}
        moved = target.promote(endpoint, version, source=sources[0] if sources else None)
        _report(command, agent, moved, served.get(endpoint, ""))


@click.command()
@click.argument("agent")
@click.argument("endpoint")
@pass_command_context
def rollback(command: CommandContext, agent: str, endpoint: str) -> None:
    """Let ENDPOINT of AGENT serve the version that it served before, and wait until it does."""
    with command.connect() as bench:
        target = bench.agent(agent).releases
        before = target.get(endpoint).version
        _report(command, agent, target.rollback(endpoint), before)


@click.command()
@click.argument("agent")
@click.argument("before")
@click.argument("after", required=False)
@pass_command_context
def diff(command: CommandContext, agent: str, before: str, after: str | None) -> None:
    """Compare two versions of AGENT by code and configuration; BEFORE and AFTER are versions or endpoints.

    AFTER is the newest version by default. Secrets in the code are redacted, and of environment variables only the
    names are printed.
    """
    with command.connect() as bench:
        difference = bench.agent(agent).releases.diff(before, after)
    if command.as_json:
        emit_json(difference.to_dict())
    else:
        click.echo(printable(repr(difference)))


@click.command("ab-tests")
@click.argument("agent")
@click.argument("test", required=False)
@pass_command_context
def ab_tests(command: CommandContext, agent: str, test: str | None) -> None:
    """List the A/B tests of AGENT, or compare the versions of TEST: an id, or the endpoint behind which it runs."""
    with command.connect() as bench:
        releases = bench.agent(agent).releases
        if test is None:
            _emit(command, releases.ab_tests(), empty="No A/B tests. In code: agent.releases.start_ab_test(…)")
            return
        result = releases.ab_test(test).result()
    if command.as_json:
        emit_json(result.to_dict())
    else:
        click.echo(printable(repr(result)))


def _report(command: CommandContext, agent: str, endpoint: AgentEndpoint, before: str) -> None:
    if command.as_json:
        emit_json(
            {
                "agent": agent,
                "endpoint": endpoint.name,
                "version": endpoint.version,
                "before": before or None,
                "status": endpoint.status,
            }
        )
    else:
        served = f" (before: {before})" if before and before != endpoint.version else ""
        say(f"{endpoint.name} of {agent} serves version {endpoint.version}{served}")


def _emit(command: CommandContext, table: pd.DataFrame, *, empty: str) -> None:
    rows: list[dict[str, Any]] = records(table)
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty=empty)


COMMANDS = (versions, endpoints, promote, rollback, diff, ab_tests)
