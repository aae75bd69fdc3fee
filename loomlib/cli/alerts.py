"""`loom alerts list|add|remove|check|history`. A check with an alarm exits with 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ..presentation.formats import exact
from .capture import ago
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, printable, records, say


@click.group()
def alerts() -> None:
    """Rules on error rate, cold starts, latency, cost and traffic, with notifications."""


@alerts.command("list")
@pass_command_context
def list_(command: CommandContext) -> None:
    """List the rules and their state at the last check."""
    with command.connect() as bench:
        rows = records(bench.alerts.table())
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(
            [_readable_row(row) for row in rows],
            empty="No alerts. `loom alerts add error_rate --above 5% --min-n 20` adds one.",
        )


@alerts.command()
@click.argument("number", metavar="METRIC")
@click.option("--above", help="Alarm above this limit: 0.05 or 5%, milliseconds, USD, or calls.")
@click.option("--below", help="Alarm below this limit.")
@click.option("--agent", help="Measure this agent (default: all agents together).")
@click.option("--window", default="24h", show_default=True, help="Measure over the last 30m, 12h, 7d …")
@click.option(
    "--min-n",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Make no decision on fewer calls than this.",
)
@click.option("--name", default="", help="Name of the rule (default: its condition in words).")
@click.option("--notify", "names", multiple=True, help="Notify the address in LOOM_ALERT_URL_<NAME>; repeatable.")
@click.option(
    "--remind",
    default="24h",
    show_default=True,
    help='Repeat the notification of a lasting alarm this often, or "never".',
)
@pass_command_context
def add(
    command: CommandContext,
    number: str,
    above: str | None,
    below: str | None,
    agent: str | None,
    window: str,
    min_n: int,
    name: str,
    names: tuple[str, ...],
    remind: str,
) -> None:
    """Add a rule on METRIC.

    METRIC is one such as error_rate, cold_start_mean_ms, cold_start_p90_ms, duration_p50_ms or duration_p90_ms.
    """
    with command.connect() as bench:
        rule = bench.alerts.add(
            number,
            above=_limit(above),
            below=_limit(below),
            agent=agent,
            window=ago(window, option="--window"),
            min_n=min_n,
            name=name,
            notify=names,
            remind_every=None if remind == "never" else ago(remind, option="--remind"),
        )
    from ..alerts.notify import VARIABLE, Addresses

    addresses = Addresses()
    if command.as_json:
        emit_json(rule.to_dict())
    else:
        say(f"added: {rule.name}")
    for target in rule.notify:
        if addresses.find(target) is None:
            say(f"{target} has no address yet: set {VARIABLE}{target.upper()}, or {target} in [alerts] of loom.toml")


@alerts.command()
@click.argument("name")
@pass_command_context
def remove(command: CommandContext, name: str) -> None:
    """Remove the rule NAME; its history stays."""
    with command.connect() as bench:
        bench.alerts.remove(name)
    if command.as_json:
        emit_json({"removed": name})
    else:
        say(f"removed: {name}")


@alerts.command()
@click.option("--quiet", is_flag=True, help="Send no notifications.")
@click.pass_context
@pass_command_context
def check(command: CommandContext, context: click.Context, quiet: bool) -> None:
    """Check every rule now and send the notifications that are due.

    Exit code 2: a rule is in alarm; 1: a rule cannot be read; 0: neither.
    """
    with command.connect() as bench:
        result = bench.alerts.check(notify=not quiet)
    if command.as_json:
        emit_json(
            {
                "exit_code": result.exit_code,
                "alerts": result.rows(),
                "problems": [*result.found.problems, *result.found.unreadable],
            }
        )
    else:
        for checked in result.checked:
            click.echo(f"{checked.state:<8}  {printable(checked.sentence)}")
        if not result.checked and not result.found.unreadable:
            say("No alerts.")
        for problem in result.found.unreadable:
            say(f"not checked: {printable(problem)}")
        for problem in result.found.problems:
            say(f"not notified: {printable(problem)}")
    context.exit(result.exit_code)


@alerts.command()
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Maximum number of rows.")
@pass_command_context
def history(command: CommandContext, name: str | None, limit: int) -> None:
    """List changes of state and notifications of the alerts (of NAME), newest first."""
    with command.connect() as bench:
        rows = records(bench.alerts.history(name, limit=limit))
    if command.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="No events yet.")


def _readable_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Format a row for people: the limit in the metric's unit, the window in hours."""
    from ..metrics import limit_text

    limit, window = row["limit"], row["window_s"]
    described = {**row, "limit": None if limit is None else limit_text(str(row["number"]), float(limit))}
    described["window"] = None if window is None else f"{exact(float(window) / 3600)} h"
    del described["window_s"]
    return described


def _limit(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor a percentage like 5%") from None


COMMANDS = (alerts,)
