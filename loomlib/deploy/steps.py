"""A plan: the steps of a deployment, the changes of each, and the cost of the result."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..aws.runtime_requests import SettingChange
from .costs import CostEstimate
from .policies import RolePolicy

Action = Literal["create", "change", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """What a deployment does with one resource: create, change or keep it.

    Attributes:
        kind: The kind of resource: "bucket", "package", "role", "runtime", "endpoint" or "trigger".
        name: Its name.
        action: "create" it, "change" it, or "keep" it as it is.
        changes: The settings that change; "" before or after means none.
        note: Further information, such as the package's size.
    """

    kind: str
    name: str
    action: Action
    changes: tuple[SettingChange, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployPlan:
    """The changes that a deployment would make. It does not contain values of environment variables.

    Attributes:
        agent: The agent's name.
        where: "local" or "aws".
        account_id: The account.
        region: The region.
        steps: The resources in the order of their creation.
        cost: The cost of the result at list prices.
        policy: The permissions and trust policy of the agent's role; None if an existing role is used.
        notes: Notes to read before applying the plan.
    """

    agent: str
    where: str
    account_id: str
    region: str
    steps: tuple[PlanStep, ...]
    cost: CostEstimate
    policy: RolePolicy | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return all(step.action == "keep" for step in self.steps)

    def counts(self) -> dict[str, int]:
        """Return the number of steps by action."""
        return {action: sum(step.action == action for step in self.steps) for action in ("create", "change", "keep")}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values."""
        return {
            "agent": self.agent,
            "where": self.where,
            "account_id": self.account_id,
            "region": self.region,
            "steps": [asdict(step) for step in self.steps],
            "cost": self.cost.to_dict(),
            "policy": self.policy.document() if self.policy else {},
            "unresolved_permissions": [asdict(item) for item in self.policy.unresolved] if self.policy else [],
            "notes": list(self.notes),
        }
