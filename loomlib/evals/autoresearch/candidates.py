"""Trying one proposal: deploy its candidate, run the set, compare it with the best candidate so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from loomlib.errors import EvalError, LoomError
from loomlib.store import Store

from ..compare import compare
from ..registry import Choice
from ..runs import Budget, EvalRun, evaluate
from ..values.eval_set import EvalSet
from .deciding import decide, next_alpha
from .proposals import Proposal, configuration_digest
from .spending import Spent, limits_left
from .trials import FAILED, KEPT, Trial


@runtime_checkable
class CandidateDeployer(Protocol):
    """Deploys candidates; `loomlib.workbench.AgentCandidates` deploys agents."""

    def build(self, environment: Mapping[str, str], /) -> Any:
        """Deploy a candidate with these environment variables; return something that `loom.evaluate` accepts."""
        ...

    def discard(self, built: Any, /) -> None:
        """Delete a candidate that was not kept."""
        ...


class BudgetExceededError(Exception):
    """A budget ended a run early; its incomplete results are not evidence.

    Attributes:
        used: What the run used.
    """

    def __init__(self, message: str, used: Spent) -> None:
        super().__init__(message)
        self.used = used


@dataclass(frozen=True, kw_only=True)
class TrialRunner:
    """Tries proposals; the fields are the options of `Autoresearch`."""

    deployer: CandidateDeployer | Callable[[Mapping[str, str]], Any]
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
        """Deploy a candidate."""
        deployer = self.deployer
        return deployer.build(environment) if isinstance(deployer, CandidateDeployer) else deployer(environment)

    def evaluate(self, built: Any, evalset: EvalSet, spent: Spent) -> tuple[EvalRun, Spent]:
        """Run a whole set.

        Args:
            built: The candidate.
            evalset: The set.
            spent: The part of the budget that has been used.

        Returns:
            The run and what it used.

        Raises:
            BudgetExceededError: The remaining budget was not sufficient.
        """
        budget = limits_left(self.budget, spent)
        if budget is None:
            raise BudgetExceededError("the budget is used up", Spent())
        began = time.monotonic()
        run = evaluate(built, evalset, self.evaluators, self.repeats, budget=budget, store=self.store, **self.options)
        if run.state != "complete":
            raise BudgetExceededError(run.reason, Spent.of(run, seconds=time.monotonic() - began))
        if self.objective not in run.evaluators:
            names = ", ".join(run.evaluators)
            raise EvalError("The objective is not an evaluator of the run", on=self.objective, try_=f"one of {names}")
        return run, Spent.of(run, seconds=time.monotonic() - began)

    def known_run(self, id: str) -> EvalRun | None:
        """Return a run that the journal names, or None when the store does not have it."""
        if not id:
            return None
        try:
            return EvalRun.load(self.store, id)
        except LoomError:
            return None

    def attempt(
        self, proposal: Proposal, candidate: Mapping[str, str], trials: Sequence[Trial], best: EvalRun, spent: Spent
    ) -> tuple[Trial, EvalRun | None]:
        """Try a proposal.

        Args:
            proposal: The proposal.
            candidate: The environment variables with the proposed change.
            trials: The trials so far.
            best: The run of the best candidate so far.
            spent: The part of the budget that has been used.

        Returns:
            The trial, and its run unless the candidate could not be deployed.

        Raises:
            BudgetExceededError: The budget ended the run; the proposal counts as not tried.
        """
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
        except Exception as error:  # noqa: BLE001 - a candidate is a user's code: a failed deployment is a result
            reason = f"the candidate could not be deployed: {type(error).__name__}: {error}"[:2_000]
            return replace(trial, reason=reason, seconds=time.monotonic() - began), None
        decision = ""
        try:
            run, used = self.evaluate(built, self.evalset, spent)
            alpha = next_alpha(self.alpha, trials, self.most)
            comparison = compare(run.outcomes(), best.outcomes(), margin=self.margin, seed=self.seed)
            objective = comparison[self.objective]
            decision, reason = decide(comparison, self.objective, alpha=alpha)
        finally:
            if decision != KEPT and isinstance(self.deployer, CandidateDeployer):
                self.deployer.discard(built)
        return replace(
            trial,
            decision=decision,
            reason=reason,
            alpha=alpha,
            p_value=objective.test.p_value,
            value=objective.value.value,
            baseline=objective.baseline.value,
            difference=objective.difference.value,
            low=objective.difference.low,
            high=objective.difference.high,
            cases=objective.n,
            won=tuple(flip.case_id for flip in comparison.flips("won", evaluator=self.objective)),
            lost=tuple(flip.case_id for flip in comparison.flips("lost", evaluator=self.objective)),
            run_id=run.id,
            seconds=time.monotonic() - began,
            tokens=used.tokens,
            cost=used.cost,
            labels=tuple(dict.fromkeys((*run.labels, *objective.labels))),
        ), run
