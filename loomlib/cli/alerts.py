"""Commands that keep and check alerts: `loom alerts list|add|remove|check|history`. A check with an alarm exits 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from .capture import ago
from .output import emit_json, emit_table, printable, records, say
from .place import Place, pass_place


@click.group()
def alerts() -> None:
    """Rules on error rate, cold starts, latency, cost and traffic, and whom to tell."""


@alerts.command("list")
@pass_place
def list_(place: Place) -> None:
    """The rules, and how each stood when it was last checked."""
    with place.connect() as bench:
        rows = records(bench.alerts.table())
    if place.as_json:
        emit_json(rows)
    else:
        emit_table(
            [_in_words(each) for each in rows],
            empty="no alerts; `loom alerts add error_rate --above 5% --min-n 20` makes one",
        )


@alerts.command()
@click.argument("number")
@click.option("--above", help="The limit: 0.05 or 5%, milliseconds, dollars, calls.")
@click.option("--below", help="The same, for what must not fall.")
@click.option("--agent", help="Of this agent (else of all together).")
@click.option("--window", default="24h", show_default=True, help="Over how long: 30m, 12h, 7d.")
@click.option("--min-n", type=click.IntRange(min=1), default=20, show_default=True, help="Below, nothing is decided.")
@click.option("--name", default="", help="What it is called (else what it says).")
@click.option("--notify", "names", multiple=True, help="Name of an address: LOOM_ALERT_URL_<NAME>; repeatable.")
@click.option("--remind", default="24h", show_default=True, help='How often a lasting alarm is told: 24h, or "never".')
@pass_place
def add(
    place: Place,
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
    """Add a rule on NUMBER: error_rate, cold_start_mean_ms, cold_start_p90_ms, duration_p50_ms, duration_p90_ms …"""
    with place.connect() as bench:
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

    known = Addresses()
    if place.as_json:
        emit_json(rule.to_dict())
    else:
        say(f"added: {rule.name}")
    for each in rule.notify:
        if known.find(each) is None:
            say(f"{each} has no address yet: set {VARIABLE}{each.upper()}, or {each} in [alerts] of loom.toml")


@alerts.command()
@click.argument("name")
@pass_place
def remove(place: Place, name: str) -> None:
    """Remove the rule NAME; its history stays."""
    with place.connect() as bench:
        bench.alerts.remove(name)
    if place.as_json:
        emit_json({"removed": name})
    else:
        say(f"removed: {name}")


@alerts.command()
@click.option("--quiet", is_flag=True, help="Tell nobody.")
@click.pass_context
@pass_place
def check(place: Place, context: click.Context, quiet: bool) -> None:
    """Judge every rule now and tell whom it names; exits 2 with an alarm, 1 when a rule cannot be read, else 0."""
    with place.connect() as bench:
        found = bench.alerts.check(notify=not quiet)
    if place.as_json:
        emit_json(
            {
                "exit_code": found.exit_code,
                "alerts": found.rows(),
                "problems": [*found.found.problems, *found.found.unreadable],
            }
        )
    else:
        for each in found.checked:
            click.echo(f"{each.state:<8}  {printable(each.sentence)}")
        if not found.checked and not found.found.unreadable:
            say("no alerts")
        for problem in found.found.unreadable:
            say(f"not checked: {printable(problem)}")
        for problem in found.found.problems:
            say(f"not told: {printable(problem)}")
    context.exit(found.exit_code)


@alerts.command()
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Rows at most.")
@pass_place
def history(place: Place, name: str | None, limit: int) -> None:
    """What happened to the alerts (to NAME), newest first."""
    with place.connect() as bench:
        rows = records(bench.alerts.history(name, limit=limit))
    if place.as_json:
        emit_json(rows)
    else:
        emit_table(rows, empty="nothing has happened yet")


def _in_words(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for people: the limit in the unit of its number, the window in hours."""
    from ..metrics import limit_text

    limit, window = row["limit"], row["window_s"]
    told = {**row, "limit": None if limit is None else limit_text(str(row["number"]), float(limit))}
    told["window"] = None if window is None else f"{float(window) / 3600:g} h"
    del told["window_s"]
    return told


def _limit(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no number, and no share like 5%") from None


COMMANDS = (alerts,)
