"""`loom up`, `loom down`, `loom status`: the local AgentCore."""

from __future__ import annotations

import dataclasses
import shlex
import threading
import time
from pathlib import Path

import click

from .. import local
from ..errors import LocalServiceNotRunningError
from .output import emit_json, emit_table, say, seconds_since
from .place import Place, pass_place


@click.command()
@click.option("--foreground", is_flag=True, help="Stay; end it with Ctrl-C.")
@click.option("--export", is_flag=True, help='Print only shell lines: eval "$(loom up --export)".')
@click.option("--quotas", default=None, help='"aws" enforces AWS\'s public quotas; default none.')
@click.option(
    "--log-delay", type=click.FloatRange(min=0), default=None, help="Seconds before log events become visible."
)
@click.option("--model", default=None, help="scripted (default, simulated), or openai with --model-url.")
@click.option(
    "--model-url", default=None, help="Address of an OpenAI-compatible service, such as http://127.0.0.1:11434/v1."
)
@click.option(
    "--latency-profile", default=None, help="Latency of the scripted model: instant (default), field-notes, fast."
)
@click.option(
    "--memory-delay",
    type=click.FloatRange(min=0),
    default=None,
    help="Seconds before a closed turn is extracted into long-term memory; default 1.",
)
@click.option(
    "--memory-extractor",
    type=click.Choice(["offline", "model"]),
    default=None,
    help="Who extracts: offline rules (default), or the model of --model.",
)
@pass_place
def up(
    place: Place,
    foreground: bool,
    export: bool,
    quotas: str | None,
    log_delay: float | None,
    model: str | None,
    model_url: str | None,
    latency_profile: str | None,
    memory_delay: float | None,
    memory_extractor: str | None,
) -> None:
    """Start the local AgentCore in the background and say where it is."""
    given = {
        "quotas": quotas,
        "log_delay_s": log_delay,
        "model": model or ("openai" if model_url else None),
        "model_url": model_url,
        "profile": latency_profile,
        "memory_delay_s": memory_delay,
        "memory_extractor": memory_extractor,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    options = dataclasses.replace(local.ServiceOptions(), **wanted) if wanted else None
    start = time.perf_counter()
    if foreground:
        threading.Thread(target=_say_where, args=(place.settings.home,), daemon=True).start()
        from ..local.foreground import serve_in_foreground  # the whole service, which other commands do not import

        serve_in_foreground(place.settings.home, options)
        return
    state, started = local.start(place.settings.home, options, persistent=True)
    if export:
        for name, value in state.environment().items():
            click.echo(f"export {name}={shlex.quote(value)}")
    elif place.as_json:
        emit_json({"url": state.url, "pid": state.pid, "home": str(state.home), "started": started})
    else:
        say(f"local AgentCore {f'up in {seconds_since(start)}' if started else 'was up already'} · {state.url}")
        if wanted and not started and state.options != options:
            say("it keeps the options it was started with; to change them: loom down, then loom up again")
        click.echo('  boto3 and your own scripts:  eval "$(loom up --export)"')
        click.echo("  end it, and every agent:     loom down")


@click.command()
@pass_place
def down(place: Place) -> None:
    """End the local AgentCore and every agent process."""
    stopped = local.stop(place.settings.home)
    if place.as_json:
        emit_json({"stopped": stopped})
    else:
        say("local AgentCore ended" if stopped else f"no local AgentCore runs for {place.settings.home}")


@click.command()
@pass_place
def status(place: Place) -> None:
    """Say whether the local AgentCore runs, and what is in it."""
    try:
        found = local.status(place.settings.home)
    except LocalServiceNotRunningError:
        if not place.as_json:
            raise
        emit_json({"running": False})
        raise click.exceptions.Exit(1) from None
    state = found.state
    details = {name: value for name, value in dataclasses.asdict(found).items() if name != "state"}
    if place.as_json:
        emit_json({"running": True, "url": state.url, "home": str(state.home), **details})
        return
    say(f"local AgentCore up · {state.url} · pid {state.pid} · since {state.started_at.astimezone():%Y-%m-%d %H:%M}")
    say(f"model: {found.model} · quotas {state.options.quotas} · log delay {state.options.log_delay_s:g} s")
    say(f"{len(found.runtimes)} runtimes · {len(found.sessions)} sessions · {found.rss_bytes / 2**20:.0f} MB")
    rows = [
        {
            "session": session.session_id,
            "runtime": session.runtime_id,
            "pid": str(session.pid),
            "calls": session.invocations,
            "MB": round(session.rss_bytes / 2**20),
            "last used": session.last_used_at,
        }
        for session in found.sessions
    ]
    emit_table(rows, empty="No sessions. An invocation starts one.")


def _say_where(home: Path) -> None:
    """Say the address once the service, which this process is about to become, takes connections."""
    for _ in range(300):
        if state := local.find(home):
            say(f"local AgentCore in the foreground · {state.url} · end it with Ctrl-C")
            return
        time.sleep(0.1)


COMMANDS = (up, down, status)
