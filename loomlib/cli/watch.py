"""`loom watch`: changes in the stored latency studies and evaluations of an agent. A regression exits with 2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import click

from ..errors import AgentNotFoundError
from ..presentation.formats import join
from .command_context import CommandContext, pass_command_context
from .output import emit_json, printable, say

if TYPE_CHECKING:
    from ..latency.watch import WatchResult
    from ..store import Store

_LIMIT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<percent>%?)")


@click.command()
@click.argument("agent")
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    help="cold, warm or sticky, without evaluations; repeatable (default: all).",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="p50, p90, ttft_p50, ttft_p90, failures, cost, pass_rate or score; repeatable (default: all). With fewer "
    "metrics, smaller changes can be detected.",
)
@click.option("--endpoint", default="DEFAULT", show_default=True, help="The endpoint whose studies are read.")
@click.option(
    "--days",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Number of past days: only changes found in them count.",
)
@click.option("--max-slower", default="0%", show_default=True, help="How much slower is allowed: 10% or 0.1.")
@click.option("--max-cost-increase", default="0%", show_default=True, help="How much more a call may cost: 10% or 0.1.")
@click.option(
    "--max-drop", default="0%", show_default=True, help="How much lower pass rates and scores may be: 2% or 0.02."
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Begin the history on this day, to accept a change as the new level.",
)
@click.option("--allow-overload", is_flag=True, help="Also compare studies that an overloaded machine disturbed.")
@click.option(
    "--notify", "names", multiple=True, help="Notify the address in LOOM_ALERT_URL_<NAME> of a regression; repeatable."
)
@pass_command_context
def watch(
    command: CommandContext,
    agent: str,
    scenarios: tuple[str, ...],
    metrics: tuple[str, ...],
    endpoint: str,
    days: int,
    max_slower: str,
    max_cost_increase: str,
    max_drop: str,
    since: date | None,
    allow_overload: bool,
    names: tuple[str, ...],
) -> int:
    """Search the stored latency studies and evaluations of AGENT for a day on which it became slower or worse.

    Reads the database only: no agent is called, and no service is started. A night is one value; a change is reported
    when its 95 % interval supports it; the interval remains valid although the data are checked every night.

    Exit code 0: no regression; 1: too few nights, or nothing stored of this agent; 2: a regression.
    """
    from ..latency.watch import watch_agent
    from ..store import Store

    settings = command.settings
    with Store.open(settings.database_url, tenant=settings.tenant, user=settings.user) as store:
        arn, name = _agent(store, command.where, agent)
        result = watch_agent(
            store,
            scope=command.where,
            agent_arn=arn,
            agent_name=name,
            qualifier=endpoint,
            scenarios=scenarios,
            metrics=metrics,
            days=days,
            max_slower=_share(max_slower, "--max-slower"),
            max_cost_increase=_share(max_cost_increase, "--max-cost-increase"),
            max_drop=_share(max_drop, "--max-drop"),
            since=since,
            allow_overload=allow_overload,
        )
    problems = _notify(result, names) if result.regressions and names else ()
    if command.as_json:
        emit_json({**result.summary(), "problems": list(problems)})
    else:
        for sentence in result.sentences():
            click.echo(printable(sentence))
        for problem in problems:
            say(f"not notified: {printable(problem)}")
    return result.exit_code


def _notify(result: WatchResult, names: tuple[str, ...]) -> Sequence[str]:
    """Send the sentences of a regression as `loom alerts check` sends an alarm; return what could not be sent."""
    from ..alerts import Notification, apprise_notify

    title = f"{result.agent_name}: regression"
    return apprise_notify()(
        Notification(
            alert=f"watch {result.agent_name}",
            state="alarm",
            title=title,
            body="\n".join(result.sentences()),
            names=names,
        )
    )


def _agent(store: Store, scope: str, agent: str) -> tuple[str, str]:
    """Return the ARN and the name of an agent that has stored latency studies or evaluations.

    Args:
        store: The store.
        scope: The environment.
        agent: Its name, its runtime id or its ARN.
    """
    studies = store.studies.list(scope=scope, limit=None)
    agents = [(row.agent_arn, row.agent_name or "") for row in studies if row.design.get("kind") == "latency"]
    for run in store.eval_runs.list(limit=None):
        if run.agent_arn and run.scope in (scope, None):
            agents.append((run.agent_arn, run.target_name))
    for arn, name in agents:
        if agent in (name, arn, arn.rpartition("/")[2]):
            return arn, name or agent
    names = list(dict.fromkeys(name or arn for arn, name in agents))
    raise AgentNotFoundError(
        "No latency study or evaluation of this agent is stored",
        on=agent,
        try_=f"loom report latency_study -p agent={agent}"
        + (f"; there are studies of {join(names, most=5)}" if names else ""),
    )


def _share(text: str, option: str) -> float:
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is neither a number nor a percentage like 10%", param_hint=option)
    return float(match["number"]) / (100 if match["percent"] else 1)


COMMANDS = (watch,)
