"""What all parts of a deployment have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..journal import DeployJournal, Intent
from ..steps import PlanStep

Report = Callable[[str], None]
"""Called with a line of progress."""


class DeployPart(Protocol):
    """A resource of a deployment."""

    @property
    def kind(self) -> str:
        """What it is, as in `PlanStep`."""
        ...

    def look(self) -> PlanStep:
        """Return what has to be done; only reads."""
        ...

    def carry_out(self, step: PlanStep, journal: DeployJournal, report: Report) -> None:
        """Make or change the resource, after writing the intent down.

        Args:
            step: What `look` has returned.
            journal: Where intents are written.
            report: Called with lines of progress.
        """
        ...

    def undo(self, intent: Intent, report: Report) -> str:
        """Delete what was made, or restore what was changed, and return a sentence about it; "" if nothing was there.

        Args:
            intent: What a deployment has begun.
            report: Called with lines of progress.
        """
        ...
