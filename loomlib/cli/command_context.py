"""The common options of every command: environment, settings and form of the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ..settings import Settings

if TYPE_CHECKING:
    from ..workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    """The common options of a command line; commands get it by `@pass_command_context`.

    Attributes:
        where: "local" or "aws".
        settings: The settings in force.
        as_json: Whether to print JSON.
    """

    where: str
    settings: Settings
    as_json: bool

    def connect(self) -> Workbench:
        """Open the workbench; the local AgentCore is started when it is not up."""
        from ..workbench import connect

        return connect(self.where, settings=self.settings)


pass_command_context = click.make_pass_decorator(CommandContext)
