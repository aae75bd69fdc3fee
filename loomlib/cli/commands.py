"""The commands of `loom`, Loom's own and plugins'; a broken plugin does not stop the others."""

from __future__ import annotations

from functools import cached_property

import click

from ..errors import PluginError
from ..plugins import Plugins, find_plugins


class CommandGroup(click.Group):
    """A group whose commands come through the hook `loom_commands`."""

    asked: str = ""
    """The name of the command that runs."""

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins that provide commands."""
        return find_plugins("commands")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return list(self.plugins.names("commands"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None when there is none or its plugin is broken."""
        if cmd_name not in self.plugins.names("commands"):
            return None
        try:
            return self.plugins.get("commands", cmd_name)
        except PluginError:  # recorded; `resolve_command` reports it when the command is used
            return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments begin with; raise the plugin's error when it is broken."""
        self.asked = args[0]
        names = self.plugins.names("commands")
        if args[0] in names or (not args[0].startswith("-") and self.plugins.may_have("commands", args[0])):
            self.plugins.get("commands", args[0])
        return super().resolve_command(ctx, args)

    def foreign_failure(self, error: Exception) -> PluginError | None:
        """Return the error as the failure of a plugin's command, or None when Loom's own command raised it."""
        if self.asked not in self.plugins.names("commands") or self.plugins.is_own("commands", self.asked):
            return None
        return self.plugins.report("commands", self.asked, error, did="failed")
