"""Sums of the costs of many invocations: of a session, a study, an agent, a day."""

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
    """The sum of costs.

    Attributes:
        amount: Everything.
        model: The cost of tokens.
        runtime: The cost of CPU and memory.
        invocations: How many invocations were summed.
        incomplete: How many of them have something unknown.
        simulated: How many of them used a scripted model.
        tokens: The known tokens by kind.
        by_model: The cost of tokens by model.
    """

    amount: Amount
    model: Amount
    runtime: Amount
    invocations: int
    incomplete: int
    simulated: int
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    by_model: Mapping[str, Amount] = field(default_factory=dict[str, Amount])

    def row(self) -> dict[str, Any]:
        """Return the sum as one row of a table."""
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
    """Return the sum of costs."""
    all_costs = list(costs)
    currency = all_costs[0].currency if all_costs else "USD"
    by_model: dict[str, Amount] = {}
    for cost in all_costs:
        for line in cost.lines:
            if line.unit == "tokens":
                name = line.model or "unknown model"
                by_model[name] = by_model[name] + line.amount if name in by_model else line.amount
    return CostTotal(
        amount=total((cost.total for cost in all_costs), currency=currency),
        model=total((cost.model for cost in all_costs), currency=currency),
        runtime=total((cost.runtime for cost in all_costs), currency=currency),
        invocations=len(all_costs),
        incomplete=sum(1 for cost in all_costs if cost.total.unknown),
        simulated=sum(1 for cost in all_costs if cost.is_simulated),
        tokens={kind: sum(cost.tokens(kind) for cost in all_costs) for kind in KINDS},
        by_model=dict(sorted(by_model.items())),
    )


def cost_by(costs: Iterable[tuple[Key, Cost]]) -> dict[Key, CostTotal]:
    """Return sums by a key (a session, an agent, a day), in order of first appearance."""
    groups: dict[Key, list[Cost]] = {}
    for key, cost in costs:
        groups.setdefault(key, []).append(cost)
    return {key: total_cost(group) for key, group in groups.items()}
