"""What a run has taken of its budget, and how much more it may ask."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from loomlib.store import StoredAnswer

from .options import Budget

if TYPE_CHECKING:
    from .judging import Judges


class Meter:
    """Counts seconds, tokens and dollars of one run (of this process: a resumed run has its budget anew)."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._began = budget, time.monotonic()
        self._answers = self._with_cost = self._with_tokens = 0
        self._cost, self._tokens = 0.0, 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return self._budget.time_s is not None and self.elapsed_s >= self._budget.time_s

    @property
    def is_metered(self) -> bool:
        """Whether it needs to know what each answer and each verdict took."""
        return self._budget.is_metered

    def count(self, answer: StoredAnswer) -> None:
        """An answer came, with or without its figures."""
        if not answer.is_failure:
            self._answers += 1
            self.learn(answer)

    def learn(self, answer: StoredAnswer) -> None:
        """What an answer took became known."""
        if answer.cost is not None:
            self._with_cost += 1
            self._cost += answer.cost
        if answer.input_tokens is not None and answer.output_tokens is not None:
            self._with_tokens += 1
            self._tokens += answer.input_tokens + answer.output_tokens

    def spent(self, judges: Judges) -> str:
        """Why nothing more may be asked, "" when something may."""
        budget = self._budget
        if self.is_late:
            return f"the budget of {budget.time_s:g} s is used up"
        if budget.money is not None:
            if self._answers and not self._with_cost:
                return "what the answers cost is not known (no trace told it), so a budget in money cannot be kept"
            if (cost := self._cost_of_all + judges.cost) >= budget.money:
                return f"the budget of ${budget.money:,.6g} is used up (${cost:,.6g})"
            if self._left_money(judges) < self._mean_cost + _mean(judges.cost, judges.judged):
                return f"another answer would exceed the budget of ${budget.money:,.6g} (${cost:,.6g} so far)"
        if budget.tokens is not None:
            if self._answers and not self._with_tokens:
                return "the answers' tokens are not known (no trace told them), so a budget of tokens cannot be kept"
            if (tokens := self._tokens_of_all + judges.tokens) >= budget.tokens:
                return f"the budget of {budget.tokens:,} tokens is used up ({tokens:,.0f})"
            if budget.tokens - tokens < self._mean_tokens + _mean(judges.tokens, judges.judged):
                return f"another answer would exceed the budget of {budget.tokens:,} tokens ({tokens:,.0f} so far)"
        self._judges = judges
        return ""

    def affordable(self, owed: int, first: int) -> int:
        """How many more may be asked before the next look: half of what the rest should allow."""
        if not self._budget.is_metered:
            return owed
        if not self._answers:
            return min(owed, first)
        allowed: list[float] = [float(owed)]
        judges = self._judges
        if self._budget.money is not None and (each := self._mean_cost + _mean(judges.cost, judges.judged)):
            allowed.append(self._left_money(judges) / each)
        if self._budget.tokens is not None and (each := self._mean_tokens + _mean(judges.tokens, judges.judged)):
            left = self._budget.tokens - self._tokens_of_all - judges.tokens
            allowed.append(left / each)
        return max(1, min(owed, max(first, int(min(allowed) / 2)), int(min(allowed))))

    def _left_money(self, judges: Judges) -> float:
        assert self._budget.money is not None
        return self._budget.money - self._cost_of_all - judges.cost

    @property
    def _mean_cost(self) -> float:
        return self._cost / self._with_cost if self._with_cost else 0.0

    @property
    def _mean_tokens(self) -> float:
        return self._tokens / self._with_tokens if self._with_tokens else 0.0

    @property
    def _cost_of_all(self) -> float:
        """Known costs, and for answers without one the mean of the others."""
        return self._cost + self._mean_cost * (self._answers - self._with_cost)

    @property
    def _tokens_of_all(self) -> float:
        return self._tokens + self._mean_tokens * (self._answers - self._with_tokens)


def _mean(taken: float, count: int) -> float:
    """What each of them took, 0 while there is none."""
    return taken / count if count else 0.0
