"""The resources that removing an agent would delete and keep, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

MADE: Final = "Loom created it"
FOREIGN: Final = "another tool created it"
REMOVAL_COLUMNS: Final = ("action", "kind", "name", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalStep:
    """One resource of an agent.

    Attributes:
        kind: The kind of resource, such as "endpoint", "runtime", "package", "role", "log group" or "catalog entry".
        name: Its name.
        action: "delete" it, or "keep" it.
        reason: The reason for the action.
    """

    kind: str
    name: str
    action: Literal["delete", "keep"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovalPlan:
    """The resources that removing an agent would delete, in this order, and those it would keep.

    Attributes:
        agent: The agent's name.
        where: "local" or "aws".
        steps: The resources.
    """

    agent: str
    where: str
    steps: tuple[RemovalStep, ...]

    @property
    def deleted(self) -> tuple[RemovalStep, ...]:
        """The steps that delete something."""
        return tuple(step for step in self.steps if step.action == "delete")

    @property
    def kept(self) -> tuple[RemovalStep, ...]:
        """The steps that keep something."""
        return tuple(step for step in self.steps if step.action == "keep")

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {"agent": self.agent, "where": self.where, "steps": [asdict(step) for step in self.steps]}
