"""`loom trust`: the folders of other users whose settings and data Loom may use."""

from __future__ import annotations

from pathlib import Path

import click

from .. import trust as trusted
from .output import say


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--revoke", is_flag=True, help="Stop trusting FOLDER.")
def trust(folder: Path | None, revoke: bool) -> None:
    """Use the .loom and loom.toml in FOLDER and below, whoever owns them; without FOLDER, list what is trusted.

    Everyone who can write to FOLDER then decides where Loom stores your data and which address it calls.
    """
    if folder is None:
        for trusted_folder in trusted.trusted_folders():
            click.echo(str(trusted_folder))
    elif revoke:
        was = trusted.distrust(folder)
        say(f"{folder} is no longer trusted" if was else f"{folder} was not trusted")
    else:
        say(f"trusted: {trusted.trust(folder)} (listed in {trusted.trust_file()})")


COMMANDS = (trust,)
