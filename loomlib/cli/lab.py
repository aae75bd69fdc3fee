"""`loom lab` opens JupyterLab on *Start here*, with everything ready."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from ..errors import LoomError, MissingExtraError
from ..settings import JUPYTER_CONFIG
from .command_context import CommandContext, pass_command_context
from .launcher import FOLDER, prepare_jupyter
from .output import say

_ALIASES: Final = {"--ip": "--ServerApp.ip", "--notebook-dir": "--ServerApp.root_dir"}
"""JupyterLab's short names of the options that Loom sets; it refuses an option that is set twice."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@pass_command_context
def lab(command: CommandContext, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on the notebook *Start here*.

    ARGUMENTS are passed to JupyterLab (such as --no-browser) and override Loom's own.

    The launcher has a card for each panel, and "New from template" lists the reports.
    """
    if find_spec("jupyterlab") is None:
        raise MissingExtraError(
            "JupyterLab is not installed",
            on=sys.prefix,
            try_="pip install 'loomlib[notebook]'; in a clone of Loom: make lab",
        )
    notebooks = _notebooks()
    home = command.settings.home
    os.environ["LOOM_HOME"] = str(home)
    for variable, folder in (("JUPYTER_PATH", prepare_jupyter(home / FOLDER)), ("JUPYTER_CONFIG_PATH", JUPYTER_CONFIG)):
        os.environ[variable] = os.pathsep.join(filter(None, (str(folder), os.environ.get(variable))))
    own = {
        "--ServerApp.root_dir": str(notebooks.parent),
        "--LabApp.default_url": f"/lab/tree/{notebooks.name}/00_start_here.ipynb",
        "--ServerApp.ip": "127.0.0.1",
    }
    names = {_ALIASES.get(name, name) for name in (argument.partition("=")[0] for argument in arguments)}
    line = [sys.executable, "-m", "jupyterlab"]
    line += [f"{name}={value}" for name, value in own.items() if name not in names]
    # JupyterLab refuses to run as root without this flag; in containers there is often no other user.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        line.append("--allow-root")
    say("opening JupyterLab on Start here; press Ctrl-C twice to stop it")
    sys.stdout.flush()
    os.execv(sys.executable, [*line, *arguments])  # noqa: S606 - the terminal and its signals belong to JupyterLab now


def _notebooks() -> Path:
    package = Path(__file__).resolve().parent.parent
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / "00_start_here.ipynb").is_file():
            return folder
    raise LoomError("The notebooks are not installed", on=str(package), try_="install loomlib[notebook] again")


COMMANDS = (lab,)
