"""The used and the remaining budget of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..runs import Budget, EvalRun
from .journal import JournalEntries


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds, model tokens and US dollars used, judges included: the sum of what is known.

    The cost is None when no cost is known.
    """

    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        cost = _known_sum([self.cost, other.cost])
        return Spent(seconds=self.seconds + other.seconds, tokens=self.tokens + other.tokens, cost=cost)

    @classmethod
    def of(cls, run: EvalRun, *, seconds: float) -> Spent:
        """Return what a run consumed, its judges included; reused answers and their scores cost nothing.

        Args:
            run: The run.
            seconds: Duration of the run in seconds.
        """
        tokens = 0
        costs: list[float | None] = []
        for judgement in run.judgements():
            if judgement.is_reused:
                continue
            scores = [
                score for verdict in judgement.verdicts.values() if isinstance(verdict, tuple) for score in verdict
            ]
            tokens += sum(part.tokens or 0 for part in (*judgement.answer.turns, *scores))
            costs += [turn.cost for turn in judgement.answer.turns]
            costs += [score.cost for score in scores if score.cost != 0]  # 0: an evaluator that calls no model
        return cls(seconds=seconds, tokens=tokens, cost=_known_sum(costs))

    def plain(self) -> dict[str, Any]:
        """Return JSON values that `read` reads."""
        return {"seconds": self.seconds, "tokens": self.tokens, "cost": self.cost}

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Spent:
        """Return what `plain` wrote."""
        cost = stored.get("cost")
        return cls(
            seconds=float(stored.get("seconds", 0.0)),
            tokens=int(stored.get("tokens", 0)),
            cost=None if cost is None else float(cost),
        )


def _known_sum(costs: Sequence[float | None]) -> float | None:
    """Return the sum of the known costs, None when there are only unknown ones."""
    known_costs = [cost for cost in costs if cost is not None]
    return sum(known_costs) if known_costs or not costs else None


def spent_by(entries: JournalEntries) -> Spent:
    """Return what a journal's trials, its baseline and the interrupted runs used."""
    total = Spent() if entries.baseline_spent is None else Spent.read(entries.baseline_spent)
    total = sum(map(Spent.read, entries.interruptions), total)
    for trial in entries.trials:
        # A trial that failed before its run cost nothing.
        cost = trial.cost if trial.run_id else 0.0
        total = total + Spent(seconds=trial.seconds, tokens=trial.tokens, cost=cost)
    return total


def limits_left(budget: Budget, spent: Spent) -> Budget | None:
    """Return what is left for the next run, None when a limit is reached. Unknown costs count as 0.

    Args:
        budget: The limits of the search.
        spent: What it has used.
    """
    remaining_limits = {
        "money": None if budget.money is None else budget.money - (spent.cost or 0.0),
        "tokens": None if budget.tokens is None else budget.tokens - spent.tokens,
        "time_s": None if budget.time_s is None else budget.time_s - spent.seconds,
    }
    if any(amount is not None and amount <= 0 for amount in remaining_limits.values()):
        return None
    return Budget(**remaining_limits)  # pyright: ignore[reportArgumentType]
