"""`loom up`, `loom down`, `loom status`: the local AgentCore."""

from __future__ import annotations

import dataclasses
import os
import shlex
import time

import click

from .. import local
from ..errors import LocalServiceNotRunningError
from ..presentation.formats import date_time, plural, size, time_limit
from .command_context import CommandContext, pass_command_context
from .output import emit_json, emit_table, say, seconds_since


@click.command()
@click.option("--foreground", is_flag=True, help="Run in the foreground; stop with Ctrl-C.")
@click.option("--export", is_flag=True, help='Print shell exports only: eval "$(loom up --export)".')
@click.option("--quotas", default=None, help='"aws" enforces AWS\'s public quotas (default: none).')
@click.option(
    "--log-delay", type=click.FloatRange(min=0), default=None, help="Seconds before log events become visible."
)
@click.option(
    "--model",
    default=None,
    help="scripted (default, simulated), tiny (a real small model, with the extra tiny-model: its speed is real, its "
    "quality is not), or openai with --model-url.",
)
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
    help="Seconds before a closed turn is extracted into long-term memory (default: 1).",
)
@click.option(
    "--memory-extractor",
    type=click.Choice(["offline", "model"]),
    default=None,
    help="What extracts memory records: offline rules (default), or the model of --model.",
)
@click.option(
    "--sandbox",
    type=click.Choice(["required", "best", "off"]),
    default=None,
    help="Isolation of sessions: the strongest that this machine has (best, default: bubblewrap, else another user id "
    "for root), bubblewrap or nothing (required), or none (off).",
)
@click.option(
    "--sandbox-network",
    type=click.Choice(["open", "service"]),
    default=None,
    help="What isolated sessions can reach: the internet (open, default), or the local AgentCore only (service).",
)
@click.option(
    "--sandbox-read",
    multiple=True,
    type=click.Path(exists=True, resolve_path=True),
    help="A file or folder that isolated sessions may read; repeatable.",
)
@click.option(
    "--sandbox-write",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="A folder that isolated sessions may write; repeatable.",
)
@click.option(
    "--limits",
    default=None,
    help="Limits of one session: aws (default), none, or figures such as memory=512m,processes=64.",
)
@click.option(
    "--platform-default",
    type=click.Choice(["V1", "V2"]),
    default=None,
    help="Platform of new runtimes that name none: V2 (default, as on AWS), or V1.",
)
@click.option(
    "--python",
    type=click.Choice(["workbench", "machine"]),
    default=None,
    help="Which Python runs agents: the workbench's (default), or the version that a runtime names.",
)
@click.option(
    "--web-search-folder",
    default=None,
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="A folder of pages (.html, .md, .txt) that web search searches; without one, web search is refused.",
)
@pass_command_context
def up(
    command: CommandContext,
    foreground: bool,
    export: bool,
    quotas: str | None,
    log_delay: float | None,
    model: str | None,
    model_url: str | None,
    latency_profile: str | None,
    memory_delay: float | None,
    memory_extractor: str | None,
    sandbox: str | None,
    sandbox_network: str | None,
    sandbox_read: tuple[str, ...],
    sandbox_write: tuple[str, ...],
    limits: str | None,
    platform_default: str | None,
    python: str | None,
    web_search_folder: str | None,
) -> None:
    """Start the local AgentCore in the background and print its address."""
    arguments = {
        "quotas": quotas,
        "log_delay_s": log_delay,
        "model": model or ("openai" if model_url else None),
        "model_url": model_url,
        "profile": latency_profile,
        "memory_delay_s": memory_delay,
        "memory_extractor": memory_extractor,
        "sandbox": sandbox,
        "sandbox_network": sandbox_network,
        "sandbox_read": sandbox_read or None,
        "sandbox_write": sandbox_write or None,
        "limits": limits,
        "platform_default": platform_default,
        "python": python,
        "web_search_folder": web_search_folder,
    }
    overrides = {name: value for name, value in arguments.items() if value is not None}
    options = dataclasses.replace(local.ServiceOptions(), **overrides) if overrides else None
    start = time.perf_counter()
    if foreground:
        serving = local.serve_in_foreground(command.settings.home, options)
        say(f"local AgentCore was already up · {serving.url} · process {serving.pid}")
        return
    state, was_started = local.start(command.settings.home, options, persistent=True)
    if export:
        foreign = [
            name for name in os.environ if name in local.FOREIGN_VARIABLES or name.startswith("AWS_ENDPOINT_URL_")
        ]
        if foreign:
            click.echo(f"unset {' '.join(foreign)}")
        for name, value in local.shell_environment(state, os.environ).items():
            click.echo(f"export {name}={shlex.quote(value)}")
    elif command.as_json:
        emit_json({"url": state.url, "pid": state.pid, "home": str(state.home), "started": was_started})
    else:
        say(f"local AgentCore {f'up in {seconds_since(start)}' if was_started else 'was already up'} · {state.url}")
        if overrides and not was_started and state.options != options:
            say("these options were ignored because the service is already up; run loom down, then loom up again")
        click.echo('  boto3 and your own scripts:  eval "$(loom up --export)"')
        click.echo("  stop it and all agents:      loom down")


@click.command()
@pass_command_context
def down(command: CommandContext) -> None:
    """Stop the local AgentCore and all agent processes."""
    stopped = local.stop(command.settings.home)
    if command.as_json:
        emit_json({"stopped": stopped})
    else:
        say("local AgentCore stopped" if stopped else f"no local AgentCore is running for {command.settings.home}")


@click.command()
@pass_command_context
def status(command: CommandContext) -> None:
    """Show whether the local AgentCore is running, its runtimes and its sessions."""
    try:
        service = local.status(command.settings.home)
    except LocalServiceNotRunningError:
        if not command.as_json:
            raise
        emit_json({"running": False})
        raise click.exceptions.Exit(1) from None
    state = service.state
    details = {name: value for name, value in dataclasses.asdict(service).items() if name != "state"}
    if command.as_json:
        emit_json({"running": True, "url": state.url, "home": str(state.home), **details})
        return
    say(f"local AgentCore up · {state.url} · pid {state.pid} · since {date_time(state.started_at)}")
    say(f"model: {service.model} · quotas {state.options.quotas} · log delay {time_limit(state.options.log_delay_s)}")
    say(f"isolation of sessions: {service.isolation} · limits {service.limits}")
    runtimes, sessions = plural(len(service.runtimes), "runtime"), plural(len(service.sessions), "session")
    say(f"{runtimes} · {sessions} · {size(service.rss_bytes)} of memory")
    for name in service.damaged:
        say(f"damaged and set aside: {name} · {state.home / 'service.log'} says what was recovered")
    rows = [
        {
            "session": session.session_id,
            "runtime": session.runtime_id,
            "pid": str(session.pid),
            "calls": session.invocations,
            "memory": size(session.rss_bytes),
            "last used": session.last_used_at,
        }
        for session in service.sessions
    ]
    emit_table(rows, empty="No sessions. An invocation starts one.")


COMMANDS = (up, down, status)
