"""`loom lab` opens JupyterLab on *Start here*, with everything ready."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..errors import LoomError
from .launcher import FOLDER, prepare_jupyter
from .output import say
from .place import Place, pass_place


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@pass_place
def lab(place: Place, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on *Start here*; ARGUMENTS go to JupyterLab (such as --no-browser) and win.

    Its launcher has a card for each panel, and "New from template" offers the reports.
    """
    notebooks = _notebooks()
    home = place.settings.home
    os.environ["LOOM_HOME"] = str(home)
    os.environ["JUPYTER_PATH"] = os.pathsep.join(
        filter(None, (str(prepare_jupyter(home / FOLDER)), os.environ.get("JUPYTER_PATH")))
    )
    own = {
        "--ServerApp.root_dir": str(notebooks.parent),
        "--LabApp.default_url": f"/lab/tree/{notebooks.name}/00_start_here.ipynb",
        "--ServerApp.ip": "127.0.0.1",
    }
    said = {argument.partition("=")[0] for argument in arguments}
    command = [sys.executable, "-m", "jupyterlab"]
    command += [f"{name}={value}" for name, value in own.items() if name not in said]
    # JupyterLab refuses to run as root unless told so; in a container there often is nobody else.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    say("JupyterLab opens on Start here; end it with Ctrl-C twice")
    sys.stdout.flush()
    os.execv(sys.executable, [*command, *arguments])  # noqa: S606 - the terminal and its signals belong to JupyterLab now


def _notebooks() -> Path:
    package = Path(__file__).resolve().parent.parent
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / "00_start_here.ipynb").is_file():
            return folder
    raise LoomError("The notebooks are not installed", on=str(package), try_="installing loomlib[notebook] again")


COMMANDS = (lab,)
