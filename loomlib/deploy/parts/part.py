"""The common interface of a deployment's parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..journal import DeployJournal, Intent
from ..steps import PlanStep

Report = Callable[[str], None]
"""Called with a line of progress."""


class DeployPart(Protocol):
    """A part of a deployment: creates, changes or restores one resource."""

    @property
    def kind(self) -> str:
        """The kind of resource, as in `PlanStep`."""
        ...

    def look(self) -> PlanStep:
        """Return the step to carry out; changes nothing."""
        ...

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Create or change the resource, after recording the intent.

        Args:
            step: The step that `look` returned.
            journal: Records intents.
            report: Called with lines of progress.
        """
        ...

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete a created resource or restore a changed one, and return a sentence about it; "" if it does not exist.

        Args:
            intent: The change that a deployment has started.
            report: Called with lines of progress.
        """
        ...
