"""One proposal tried: its candidate built, asked the set, compared with the best so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from loomlib.errors import EvalError, LoomError

from ..compare import compare
from ..runs import Budget, EvalRun, evaluate
from .deciding import decide, next_alpha
from .proposals import Proposal, configuration_digest
from .spending import Spent, limits_left
from .trials import FAILED, KEPT, Trial

if TYPE_CHECKING:
    from loomlib.store import Store

    from ..registry import Choice
    from ..values.eval_set import EvalSet


@runtime_checkable
class Laboratory(Protocol):
    """Where candidates are made. `build` gives something that `loom.evaluate` takes, really made of these variables;
    `discard` lets go of one that was dropped. `loomlib.workbench.AgentCandidates` deploys agents.
    """

    def build(self, environment: Mapping[str, str], /) -> Any: ...
    def discard(self, built: Any, /) -> None: ...


class CutShort(Exception):
    """A budget ended a run half-way: what it has is no evidence."""


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """How proposals are tried in one research."""

    laboratory: Laboratory | Callable[[Mapping[str, str]], Any]
    evalset: EvalSet
    evaluators: Sequence[Choice] | Choice
    objective: str
    repeats: int
    alpha: float
    margin: float
    most: int
    seed: int
    budget: Budget
    store: Store | str | None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def build(self, environment: Mapping[str, str]) -> Any:
        """What these variables make."""
        laboratory = self.laboratory
        return laboratory.build(environment) if isinstance(laboratory, Laboratory) else laboratory(environment)

    def evaluate(self, built: Any, evalset: EvalSet, spent: Spent) -> tuple[EvalRun, Spent]:
        """A whole run and what it took; raises `CutShort` when the budget does not allow one."""
        budget = limits_left(self.budget, spent)
        if budget is None:
            raise CutShort("the budget is used up")
        began = time.monotonic()
        run = evaluate(built, evalset, self.evaluators, self.repeats, budget=budget, store=self.store, **self.options)
        if run.state != "complete":
            raise CutShort(run.reason)
        if self.objective not in run.evaluators:
            known = ", ".join(run.evaluators)
            raise EvalError("The objective is no evaluator of the run", on=self.objective, try_=f"one of {known}")
        return run, Spent.of(run, seconds=time.monotonic() - began)

    def known_run(self, id: str) -> EvalRun | None:
        """A run that the journal names, if its store still has it."""
        if not id:
            return None
        try:
            return EvalRun.load(self.store, id)
        except LoomError:
            return None

    def attempt(
        self, proposal: Proposal, candidate: Mapping[str, str], trials: Sequence[Trial], best: EvalRun, spent: Spent
    ) -> tuple[Trial, EvalRun | None]:
        """The trial and its run. `CutShort` when the budget ended it: then it has not been tried."""
        began = time.monotonic()
        trial = Trial(
            number=len(trials) + 1,
            proposal=proposal,
            configuration=configuration_digest(candidate),
            decision=FAILED,
            reason="",
            against=best.id,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        try:
            built = self.build(candidate)
        except Exception as error:  # noqa: BLE001 - a candidate is foreign code: that it cannot be made is a result
            reason = f"it could not be built: {type(error).__name__}: {error}"[:2_000]
            return replace(trial, reason=reason, seconds=time.monotonic() - began), None
        decision = ""
        try:
            run, used = self.evaluate(built, self.evalset, spent)
            alpha = next_alpha(self.alpha, trials, self.most)
            comparison = compare(run.outcomes(), best.outcomes(), margin=self.margin, seed=self.seed)
            each = comparison[self.objective]
            decision, reason = decide(comparison, self.objective, alpha=alpha)
        finally:
            if decision != KEPT and isinstance(self.laboratory, Laboratory):
                self.laboratory.discard(built)
        return replace(
            trial,
            decision=decision,
            reason=reason,
            alpha=alpha,
            p_value=each.test.p_value,
            value=each.value.value,
            baseline=each.baseline.value,
            difference=each.difference.value,
            low=each.difference.low,
            high=each.difference.high,
            cases=each.n,
            won=tuple(flip.case_id for flip in comparison.flips("won", evaluator=self.objective)),
            lost=tuple(flip.case_id for flip in comparison.flips("lost", evaluator=self.objective)),
            run_id=run.id,
            seconds=time.monotonic() - began,
            tokens=used.tokens,
            cost=used.cost,
            labels=tuple(dict.fromkeys((*run.labels, *each.labels))),
        ), run
