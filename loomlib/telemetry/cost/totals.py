"""Costs of many invocations as sums: of a session, a study, an agent, a day."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .amount import Amount, total
from .cost import Cost
from .prices import KINDS

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTotal:
    """The sum of costs. `incomplete` of the `invocations` have something unknown; `simulated` of them are scripted."""

    amount: Amount
    model: Amount
    runtime: Amount
    invocations: int
    incomplete: int
    simulated: int
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    by_model: Mapping[str, Amount] = field(default_factory=dict[str, Amount])

    def row(self) -> dict[str, Any]:
        """The sum as one row of a table."""
        return {
            "amount": self.amount.value,
            "state": self.amount.state,
            "estimated": self.amount.is_estimate,
            "model": self.model.value,
            "runtime": self.runtime.value,
            "unknown": self.amount.unknown,
            "invocations": self.invocations,
            "incomplete": self.incomplete,
            "simulated": self.simulated,
            **{f"{kind}_tokens": count for kind, count in self.tokens.items()},
        }


def total_cost(costs: Iterable[Cost]) -> CostTotal:
    """The sum of costs, whatever their order."""
    found = list(costs)
    currency = found[0].currency if found else "USD"
    by_model: dict[str, Amount] = {}
    for cost in found:
        for line in cost.lines:
            if line.unit == "tokens":
                name = line.model or "unknown model"
                by_model[name] = by_model[name] + line.amount if name in by_model else line.amount
    return CostTotal(
        amount=total((cost.total for cost in found), currency=currency),
        model=total((cost.model for cost in found), currency=currency),
        runtime=total((cost.runtime for cost in found), currency=currency),
        invocations=len(found),
        incomplete=sum(1 for cost in found if cost.total.unknown),
        simulated=sum(1 for cost in found if cost.is_simulated),
        tokens={kind: sum(cost.tokens(kind) for cost in found) for kind in KINDS},
        by_model=dict(sorted(by_model.items())),
    )


def cost_by(costs: Iterable[tuple[Key, Cost]]) -> dict[Key, CostTotal]:
    """Sums by a key of the caller's: a session, an agent, a day. In the order in which the keys first come."""
    groups: dict[Key, list[Cost]] = {}
    for key, cost in costs:
        groups.setdefault(key, []).append(cost)
    return {key: total_cost(group) for key, group in groups.items()}
