"""Commands about agents: register, remove, invoke, logs, latency, trace."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ..errors import LoomError
from .command_context import CommandContext, pass_command_context
from .identity import read_bearer
from .output import emit_json, emit_table, printable, records, say

if TYPE_CHECKING:
    from ..workbench import Agent


@click.command()
@click.argument("arn")
@pass_command_context
def register(command: CommandContext, arn: str) -> None:
    """Add a deployed runtime to the catalog by its ARN."""
    with command.connect() as bench:
        agent = bench.register(arn)
        if command.as_json:
            emit_json(about_agent(agent))
        else:
            say(f"registered {agent.name} · {agent.status} · qualifiers {', '.join(agent.entry.qualifiers)}")


@click.command()
@click.argument("agent")
@click.option("--delete-runtime", is_flag=True, help="Delete the deployed runtime as well.")
@click.option(
    "--everything",
    is_flag=True,
    help="Delete everything that Loom created for it: endpoints, runtime, packages and role.",
)
@click.option("--plan", "only_plan", is_flag=True, help="With --everything: print what would be deleted and kept.")
@pass_command_context
def remove(command: CommandContext, agent: str, delete_runtime: bool, everything: bool, only_plan: bool) -> None:
    """Remove AGENT from the catalog; what is deployed stays unless --delete-runtime or --everything is given."""
    if only_plan and not everything:
        raise click.UsageError("--plan belongs to --everything")
    with command.connect() as bench:
        target = bench.agent(agent)
        if not everything:
            target.remove(delete_runtime=delete_runtime)
            say(f"removed {target.name}{' and its runtime' if delete_runtime else ' from the catalog'}")
            return
        plan = target.releases.removal_plan()
        if not only_plan:
            plan = plan.apply(progress=say)
    if command.as_json:
        emit_json(plan.to_dict())
    else:
        emit_table(records(plan.table()), empty="")


@click.command()
@click.argument("agent")
@click.argument("prompt")
@click.option("--session", help="Session id, 33 to 256 characters (default: a new session).")
@click.option("--qualifier", default="DEFAULT", show_default=True)
@click.option(
    "--bearer",
    metavar="VARIABLE|@FILE|-",
    help="Send a token instead of a signature: from an environment variable, a file or standard input.",
)
@pass_command_context
def invoke(
    command: CommandContext, agent: str, prompt: str, session: str | None, qualifier: str, bearer: str | None
) -> int:
    """Send PROMPT to AGENT and print the answer as it arrives."""
    from ..workbench import Invocation

    token = read_bearer(bearer)
    with command.connect() as bench:
        target = bench.agent(agent)
        run = target.stream(prompt, session_id=session, qualifier=qualifier, bearer=token)
        for event in run:
            text = getattr(event, "text", "")
            if text and not command.as_json:
                click.echo(printable(text), nl=False)
        record = run.record
        if record is None:  # the stream ended, so there is one
            raise LoomError("The invocation was not recorded", on=target.name, try_="loom logs")
        inv = Invocation(record, target.context, target.entry)
    if command.as_json:
        emit_json(inv.to_dict())
    else:
        click.echo()
        say(inv.sentence())
    return 0 if inv.ok else 1


@click.command()
@click.argument("agent")
@click.option("--session", help="Only log events of this session.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--minutes", type=click.FloatRange(min=0), help="Only log events of the last MINUTES minutes.")
@click.option("--qualifier", default="DEFAULT", show_default=True)
@pass_command_context
def logs(
    command: CommandContext, agent: str, session: str | None, limit: int, minutes: float | None, qualifier: str
) -> None:
    """Print AGENT's log events, oldest first."""
    # CloudWatch Logs has no time before 1970; `inf` is all events.
    start = datetime.fromtimestamp(max(0.0, time.time() - 60 * minutes), UTC) if minutes is not None else None
    with command.connect() as bench:
        frame = bench.agent(agent).telemetry.logs(session_id=session, limit=limit, start=start, qualifier=qualifier)
    rows = records(frame)
    if command.as_json:
        emit_json(rows)
        return
    for row in rows:
        click.echo(f"{row['timestamp'].astimezone():%H:%M:%S.%f}"[:-3] + f"  {printable(str(row['message']))}")
    if not rows:
        say("No log events in that range. An agent's output appears here after its first invocation.")


@click.command()
@click.argument("agent")
@click.option("--session", help="The newest invocation of this session (default: of the agent).")
@pass_command_context
def latency(command: CommandContext, agent: str, session: str | None) -> int:
    """Find the agent's start in the logs and print the cold-start latency of an invocation."""
    from ..workbench import start_facts

    with command.connect() as bench:
        inv = bench.agent(agent).history.last(session_id=session)
        latency_report = inv.latency()
    if command.as_json:
        emit_json({**inv.to_dict(), "start": start_facts(latency_report)})
    else:
        say(latency_report.sentence())
    return 0 if latency_report.state == "found" else 1


@click.command()
@click.argument("agent")
@click.option("--session", help="The newest invocation of this session (default: of the agent).")
@click.option("--last", default=1, show_default=True, type=click.IntRange(1, 10_000), help="How many invocations.")
@click.option("--source", help="Read spans from this plugin instead of CloudWatch (see `loom plugins`).")
@pass_command_context
def trace(command: CommandContext, agent: str, session: str | None, last: int, source: str | None) -> int:
    """Print where the time of an invocation went, from its spans; waits until they have arrived."""
    with command.connect() as bench:
        views = bench.agent(agent).telemetry.traces(last, session_id=session, source=source, progress=_waiting)
    if not views:
        raise LoomError("No invocation is stored", on=session or agent, try_=f'loom invoke {agent} "…"')
    if command.as_json:
        emit_json(views[0].to_dict() if last == 1 else [view.to_dict() for view in views])
    elif last == 1:
        click.echo(printable(str(views[0])))
    else:
        emit_table(records(views.parts()), empty="")
        say(views.sentence())
    return 0 if all(view.state == "found" for view in views) else 1


def _waiting(line: str) -> None:
    """Print progress, but only once the command actually waits."""
    if " so far" in line:
        say(line)


def about_agent(agent: Agent) -> dict[str, Any]:
    """Return an agent's name, ARN and state, for JSON."""
    return {
        "name": agent.name,
        "arn": agent.arn,
        "runtime_id": agent.entry.runtime_id,
        "status": agent.status,
        "qualifiers": list(agent.entry.qualifiers),
    }


COMMANDS = (register, remove, invoke, logs, latency, trace)
