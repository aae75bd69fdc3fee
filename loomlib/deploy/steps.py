"""A plan: the steps of a deployment, what each would change, and what the result costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..aws.runtime_requests import SettingChange
from .costs import CostEstimate
from .policies import RolePolicy

Action = Literal["make", "change", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One resource of a deployment.

    Attributes:
        kind: What it is: "bucket", "package", "role", "runtime", "endpoint" or "trigger".
        name: Its name.
        action: "make" it, "change" it, or "keep" it as it is.
        changes: The settings that change; "" before or after stands for none.
        note: What else a reader should know, such as the package's size.
    """

    kind: str
    name: str
    action: Action
    changes: tuple[SettingChange, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployPlan:
    """What a deployment would do. It holds no value of an environment variable.

    Attributes:
        agent: The agent's name.
        where: "local" or "aws".
        account_id: The account.
        region: The region.
        steps: The resources in the order in which they are made.
        cost: What the result costs by its list prices.
        policy: What the agent's role may do and who may use it; None where its role is given.
        notes: What a reader should know before applying.
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
        return {action: sum(step.action == action for step in self.steps) for action in ("make", "change", "keep")}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan ready for JSON."""
        return {
            "agent": self.agent,
            "where": self.where,
            "account_id": self.account_id,
            "region": self.region,
            "steps": [asdict(step) for step in self.steps],
            "cost": self.cost.to_dict(),
            "policy": self.policy.document() if self.policy else {},
            "open_permissions": [asdict(item) for item in self.policy.open] if self.policy else [],
            "notes": list(self.notes),
        }
