"""Track how much of its budget a run has used, and compute how many more cases it may run."""

from __future__ import annotations

import time

from loomlib.presentation.formats import money, number, plural, seconds
from loomlib.store import StoredAnswer

from .judging import EvaluatorRunner
from .options import Budget


class BudgetMeter:
    """Counts the seconds, tokens and dollars of one run in this process; a resumed run has its whole budget again.

    Args:
        budget: The run's limits.
        judges: The run's judges, whose tokens and dollars are included.
    """

    def __init__(self, budget: Budget, judges: EvaluatorRunner) -> None:
        self._budget, self._judges, self._began = budget, judges, time.monotonic()
        self._answers = self._with_cost = self._with_tokens = 0
        self._cost, self._tokens = 0.0, 0

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed."""
        return self._budget.time_s is not None and time.monotonic() - self._began >= self._budget.time_s

    @property
    def is_metered(self) -> bool:
        """Whether the costs of each answer and verdict must be known."""
        return self._budget.is_metered

    def count(self, answer: StoredAnswer) -> None:
        """Count an answer, with its costs where they are known."""
        if not answer.is_failure:
            self._answers += 1
            self.add_costs(answer)

    def add_costs(self, answer: StoredAnswer) -> None:
        """Count the costs of an answer that was counted before."""
        if answer.cost is not None:
            self._with_cost += 1
            self._cost += answer.cost
        if answer.input_tokens is not None and answer.output_tokens is not None:
            self._with_tokens += 1
            self._tokens += answer.input_tokens + answer.output_tokens

    def stop_reason(self) -> str:
        """Return why the budget allows no further case, "" when it allows one."""
        budget, judges = self._budget, self._judges
        if self.is_late:
            return f"the budget of {seconds(budget.time_s)} is used up"
        if budget.money is not None:
            if self._answers and not self._with_cost:
                return "no trace contains the cost of the answers, so a budget in dollars cannot be enforced"
            if (cost := self._total_cost + judges.cost) >= budget.money:
                return f"the budget of {money(budget.money)} is used up ({money(cost)})"
            if budget.money - cost < self._mean_cost + _mean(judges.cost, judges.judged):
                return f"another answer would exceed the budget of {money(budget.money)} ({money(cost)} so far)"
        if budget.tokens is not None:
            if self._answers and not self._with_tokens:
                return "no trace contains the tokens of the answers, so a budget in tokens cannot be enforced"
            if (tokens := self._total_tokens + judges.tokens) >= budget.tokens:
                return f"the budget of {plural(budget.tokens, 'token')} is used up ({number(tokens, 0)})"
            if budget.tokens - tokens < self._mean_tokens + _mean(judges.tokens, judges.judged):
                so_far = f"{number(tokens, 0)} so far"
                return f"another answer would exceed the budget of {plural(budget.tokens, 'token')} ({so_far})"
        return ""

    def affordable(self, pending: int, first: int) -> int:
        """Return how many answers to request before the budget is checked again.

        Args:
            pending: How many answers are left.
            first: The size of the first group, whose costs are unknown.

        Returns:
            Half of the answers that the remaining budget should cover at the mean cost so far.
        """
        if not self._budget.is_metered:
            return pending
        if not self._answers:
            return min(pending, first)
        allowed: list[float] = [float(pending)]
        budget, judges = self._budget, self._judges
        if budget.money is not None and (mean := self._mean_cost + _mean(judges.cost, judges.judged)):
            allowed.append((budget.money - self._total_cost - judges.cost) / mean)
        if budget.tokens is not None and (mean := self._mean_tokens + _mean(judges.tokens, judges.judged)):
            allowed.append((budget.tokens - self._total_tokens - judges.tokens) / mean)
        return max(1, min(pending, max(first, int(min(allowed) / 2)), int(min(allowed))))

    @property
    def _mean_cost(self) -> float:
        return _mean(self._cost, self._with_cost)

    @property
    def _mean_tokens(self) -> float:
        return _mean(self._tokens, self._with_tokens)

    @property
    def _total_cost(self) -> float:
        """Known costs, plus the mean for each answer without one."""
        return self._cost + self._mean_cost * (self._answers - self._with_cost)

    @property
    def _total_tokens(self) -> float:
        return self._tokens + self._mean_tokens * (self._answers - self._with_tokens)


def _mean(total: float, count: int) -> float:
    return total / count if count else 0.0
