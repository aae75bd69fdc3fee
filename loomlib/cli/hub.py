"""`loom hub`: JupyterHub for a class or a team on one machine."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path

import click

from ..errors import LoomError
from ..presentation.formats import day
from .command_context import CommandContext, pass_command_context
from .output import emit_json, say

_FOLDER = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))


@click.group()
def hub() -> None:
    """Set up, check and start a JupyterHub for a class or a team."""


@hub.command()
@_FOLDER
@click.option("--host", default="localhost", show_default=True, help="Name or address that users type.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option("--port", default=8443, show_default=True, help="Port to listen on.")
def init(folder: Path, host: str, address: str, port: int) -> None:
    """Create FOLDER: settings, a certificate for the host, the shared catalog, and JupyterHub's configuration.

    Existing files are not changed. If it runs as root, the hub's users are users of the operating system; otherwise all
    its users share one account.
    """
    from ..hub import HubSettings, prepare_folder, read_settings

    for path in prepare_folder(HubSettings(folder=folder, host=host, address=address, port=port)):
        click.echo(path)
    settings = read_settings(folder)  # those of an existing file were not replaced
    say(f"next: loom hub check {folder}; then loom hub up {folder}, and browsers open {settings.url}")


@hub.command()
@_FOLDER
@pass_command_context
def check(command: CommandContext, folder: Path) -> int:
    """Check packages, proxy, certificate, users, home folders, catalog and memory; each with its fix."""
    from ..hub import check_hub, read_settings

    checks = list(check_hub(read_settings(folder)))
    well = all(item.ok for item in checks)
    if command.as_json:
        emit_json([asdict(item) for item in checks])
    else:
        for item in checks:
            mark = "ok    " if item.ok else "FAILED"
            fix = f"  → {item.fix}" if item.fix and not item.ok else ""
            click.echo(f"{mark}  {item.name}: {item.seen}{fix}")
        say("all checks passed" if well else "some checks failed; the lines above say how to fix them")
    return 0 if well else 1


@hub.command()
@_FOLDER
def certificate(folder: Path) -> None:
    """Replace the hub's certificate with a new one, valid for a year. Browsers need the new authority.pem."""
    from ..hub import make_certificate, read_settings

    settings = read_settings(folder)
    certificate = make_certificate(settings.certificates, settings.host)
    click.echo(certificate.authority)
    say(
        f"valid until {day(certificate.valid_until.date())}; restart the hub, "
        f"and let browsers trust {certificate.authority}"
    )


@hub.command(context_settings={"ignore_unknown_options": True})
@_FOLDER
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def up(folder: Path, arguments: tuple[str, ...]) -> None:
    """Start the hub in FOLDER; ARGUMENTS are passed to JupyterHub. Ctrl-C ends it with all users' servers."""
    from ..hub import check_hub, read_settings

    settings = read_settings(folder)
    failed = [item for item in check_hub(settings) if not item.ok]
    for item in failed:
        if not item.stops_all:
            say(f"{item.name}: {item.seen}; until it is fixed, this user's server does not start: {item.fix}")
    if failed := [item for item in failed if item.stops_all]:
        raise LoomError(
            "The hub cannot start", on="; ".join(f"{item.name}: {item.seen}" for item in failed), try_=failed[0].fix
        )
    say(f"starting the hub at {settings.url}; press Ctrl-C to end it")
    sys.stdout.flush()
    os.chdir(settings.state)
    line = [sys.executable, "-m", "jupyterhub", "-f", str(settings.configuration), *arguments]
    os.execv(sys.executable, line)  # noqa: S606 - the terminal and its signals belong to JupyterHub now


COMMANDS = (hub,)
