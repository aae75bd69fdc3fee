"""The plan of an agent's removal, as notebooks show it; applied on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..agents import AgentEntry
from ..presentation.formats import plural
from ..presentation.html import fragment
from ..presentation.text import printable, text_table
from ..releases.removal import Removal
from ..releases.removal_plan import REMOVAL_COLUMNS, RemovalPlan
from .context import Context
from .frames import rows_frame
from .wait_line import WaitLine

if TYPE_CHECKING:
    import pandas as pd


class AgentRemoval:
    """The plan of an agent's removal: what is deleted and what is kept; returned by `agent.releases.removal_plan()`.

    Args:
        removal: The removal.
        value: Its plan.
        labels: Provenance labels.
    """

    def __init__(self, removal: Removal, value: RemovalPlan, labels: tuple[str, ...]) -> None:
        self._removal, self.value, self._labels = removal, value, labels

    def table(self) -> pd.DataFrame:
        """Return the resources, one row each: deleted or kept, and why."""
        rows = [{name: getattr(step, name) for name in REMOVAL_COLUMNS} for step in self.value.steps]
        return rows_frame(rows, REMOVAL_COLUMNS)

    def apply(self, *, progress: Callable[[str], None] | None = None) -> AgentRemoval:
        """Delete the planned resources after reading their state again; return what was deleted and kept.

        After a failure or a killed process, a new plan deletes the rest.

        Args:
            progress: Called with a line at each step; displayed in the notebook by default.

        Raises:
            AwsError: A resource cannot be deleted.
        """
        return AgentRemoval(self._removal, self._removal.apply(progress or WaitLine()), self._labels)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan ready for JSON."""
        return self.value.to_dict()

    def sentence(self) -> str:
        """Return how much is deleted and kept in one line."""
        return (
            f"{plural(len(self.value.deleted), 'resource')} to delete, {plural(len(self.value.kept), 'resource')} kept"
        )

    def __repr__(self) -> str:
        rows = [[getattr(step, name) for name in REMOVAL_COLUMNS] for step in self.value.steps]
        return printable(f"{self.value.agent}: {self.sentence()}\n{text_table(REMOVAL_COLUMNS, rows, longest=110)}")

    def _repr_html_(self) -> str:
        rows = [[getattr(step, name) for name in REMOVAL_COLUMNS] for step in self.value.steps]
        return fragment(
            "loomlib.workbench:removal.html.j2",
            title=f"{self.value.agent} · removal",
            labels=self._labels,
            summary=self.sentence(),
            head=REMOVAL_COLUMNS,
            rows=rows,
        )


def plan_removal(context: Context, entry: AgentEntry) -> AgentRemoval:
    """Return the plan of an agent's removal.

    Args:
        context: The workbench's resources.
        entry: The agent.
    """
    removal = Removal(context.clients, context.store, context.catalog, entry)
    return AgentRemoval(removal, removal.plan(), tuple(context.labels))
