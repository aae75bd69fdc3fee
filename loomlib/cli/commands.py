"""The commands of `loom`, Loom's own and those of plugins: found when one is asked for, and none of them stops it."""

from __future__ import annotations

from functools import cached_property

import click

from ..errors import PluginError
from ..plugins import Plugins, find_plugins


class Commands(click.Group):
    """A group whose commands come through the hook `loom_commands`."""

    asked: str = ""
    """The command that runs."""

    @cached_property
    def plugins(self) -> Plugins:
        """Those that give commands."""
        return find_plugins("commands")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command's name, sorted."""
        return list(self.plugins.names("commands"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None when nobody gives it, or its plugin is broken."""
        if cmd_name not in self.plugins.names("commands"):
            return None
        try:
            return self.plugins.get("commands", cmd_name)
        except PluginError:  # noted, and told by `resolve_command` to who asked for it
            return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with; where a broken plugin was to give it, the plugin's error."""
        self.asked = args[0]
        names = self.plugins.names("commands")
        if args[0] in names or (not args[0].startswith("-") and self.plugins.may_have("commands", args[0])):
            self.plugins.get("commands", args[0])
        return super().resolve_command(ctx, args)

    def foreign_failure(self, error: Exception) -> PluginError | None:
        """The error as the failure of a plugin's command; None when it was one of Loom's own that ran."""
        if self.asked not in self.plugins.names("commands") or self.plugins.is_own("commands", self.asked):
            return None
        return self.plugins.report("commands", self.asked, error, did="failed")
