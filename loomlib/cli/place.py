"""Where a command works: which AgentCore, with which settings, and in which form it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ..settings import Settings

if TYPE_CHECKING:
    from ..workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The common options of a command line."""

    where: str
    settings: Settings
    as_json: bool

    def connect(self) -> Workbench:
        """The workbench of this place; the local AgentCore is started when it is not up."""
        from ..workbench import connect

        return connect(self.where, settings=self.settings)


pass_place = click.make_pass_decorator(Place)
