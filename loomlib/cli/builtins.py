"""Loom's own commands, given through the same hook as a plugin's."""

from __future__ import annotations

import click

from ..plugins import hookimpl
from . import agents, alerts, capture, doctor, evals, lab, memory, notebooks, plugins, service, workshop


@hookimpl
def loom_commands() -> dict[str, click.Command]:
    """The commands of this room, by their names."""
    rooms = (service, agents, alerts, evals, capture, memory, notebooks, lab, workshop, plugins, doctor)
    return {str(command.name): command for room in rooms for command in room.COMMANDS}
