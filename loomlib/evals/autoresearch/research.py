"""Autoresearch: propose a change, run the set, keep or drop the change by a paired test, record it, repeat."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from loomlib.errors import EvalError
from loomlib.presentation.formats import plural, score
from loomlib.store import Store

from ..compare import compare
from ..registry import Choice
from ..runs import Budget, EvalRun
from ..values.eval_set import EvalSet
from .candidates import BudgetExceededError, CandidateDeployer, TrialRunner
from .journal import MARK, VERSION, Journal, JournalEntries
from .proposals import Proposal, configuration_digest
from .result import ResearchResult
from .spending import Spent, limits_left, spent_by
from .trials import KEPT, Trial

_MAX_REPEATED: Final = 10


@dataclass(frozen=True, kw_only=True)
class ResearchState:
    """What a proposer receives: all trials so far, and the variables and the run of the best candidate."""

    trials: tuple[Trial, ...]
    environment: Mapping[str, str]
    run: EvalRun
    objective: str


Proposer: TypeAlias = "Callable[[ResearchState], Proposal | None]"
"""Returns the next proposal; None ends the search."""


@dataclass(kw_only=True)
class _State:
    """A search in progress; `environment` and `run` are those of the best candidate so far."""

    first_run: str
    environment: dict[str, str]
    run: EvalRun
    spent: Spent
    trials: list[Trial] = field(default_factory=list[Trial])


class Autoresearch:
    """A search for a better configuration of an agent; with the same journal it resumes where it stopped.

    Each proposal is applied to the best candidate so far, which is then evaluated on the whole set. The change is kept
    when the objective is better by a paired test and no other evaluator is worse by more than the margin. A proposal
    whose content or resulting variables were tried before is skipped, even when another process wrote the journal.

    Examples:
        >>> research = Autoresearch(
        ...     AgentCandidates(bench, "assistant"), EvalSet.read("assistant"), objective="trajectory",
        ...     proposals=[Proposal.prompt("You are …"), Proposal.model("…")], journal="assistant.research.jsonl",
        ... )
        >>> research.run().table()
    """

    def __init__(
        self,
        deployer: CandidateDeployer | Callable[[Mapping[str, str]], Any],
        evalset: EvalSet,
        evaluators: Sequence[Choice] | Choice = (),
        *,
        objective: str,
        proposals: Iterable[Proposal] | Proposer,
        journal: str | os.PathLike[str],
        baseline: Mapping[str, str] | None = None,
        repeats: int = 1,
        alpha: float = 0.05,
        margin: float = 0.02,
        most_trials: int = 20,
        patience: int | None = None,
        target: float | None = None,
        budget: Budget | None = None,
        holdout: EvalSet | None = None,
        store: Store | str | None = None,
        seed: int = 0,
        **run_options: Any,
    ) -> None:
        """Plan a search.

        Args:
            deployer: Deploys candidates, or a function from environment variables to something that `loom.evaluate`
                accepts.
            evalset: The set that decides.
            evaluators: The evaluators of each run.
            objective: Name of the evaluator that decides.
            proposals: The changes to try, or a function that proposes the next one.
            journal: The file that records the search.
            baseline: The environment variables of the first candidate.
            repeats: How many times each case is run.
            alpha: The error rate of all tests together (see `next_alpha`).
            margin: How much worse another evaluator may be.
            most_trials: Stop after this many proposals.
            patience: Stop after this many consecutive proposals that were not kept.
            target: Stop when the objective reaches this value.
            budget: Limits of the whole search.
            holdout: A set on which the winner is compared with the baseline at the end. Scores on the set that chose
                the winner are biased in its favour.
            store: Where the runs are stored; None uses the deployer's store.
            seed: Seed of the tests.
            **run_options: Further options of `loom.evaluate`.
        """
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
        for option, value in (("most_trials", most_trials), ("patience", patience)):
            if value is not None and value < 1:
                raise ValueError(f"{option} must be at least 1, not {value}")
        self._runner = TrialRunner(
            deployer=deployer,
            evalset=evalset,
            evaluators=evaluators,
            objective=objective,
            repeats=repeats,
            alpha=alpha,
            margin=margin,
            most=most_trials,
            seed=seed,
            budget=budget or Budget(),
            store=store if store is not None else getattr(deployer, "store", None),
            options=run_options,
        )
        self._proposals, self._journal, self._baseline = proposals, Journal(journal), dict(baseline or {})
        self._patience, self._target, self._holdout = patience, target, holdout

    async def arun(self) -> ResearchResult:
        """Run from asynchronous code; see `run`."""
        return await asyncio.to_thread(self.run)

    def run(self) -> ResearchResult:
        """Try the proposals and return the result.

        Raises:
            EvalError: The journal belongs to another search, or the budget is not sufficient for the baseline.
        """
        with self._journal.locked():
            entries = self._journal.read()
            self._check(entries)
            try:
                state = self._resumed(entries)
            except BudgetExceededError as cut:
                self._journal.add_interruption(0, cut.used.plain())
                raise EvalError(
                    f"The budget was used up during the baseline's run: {cut}", try_="a larger budget"
                ) from cut
            stop = self._go_on(state)
        return self._confirmed(
            ResearchResult(
                trials=tuple(state.trials),
                environment=state.environment,
                objective=self._runner.objective,
                alpha=self._runner.alpha,
                most_trials=self._runner.most,
                stopped=stop,
                baseline_run=state.first_run,
                best_run=state.run.id,
                damaged=entries.damaged,
                labels=state.run.labels,
            )
        )

    def _resumed(self, entries: JournalEntries) -> _State:
        """Return the state in the journal; repeat the run of the best candidate if it is not in the store."""
        environment, run_id, spent = dict(self._baseline), entries.baseline_run, spent_by(entries)
        for trial in entries.trials:
            if trial.decision == KEPT:
                environment, run_id = trial.proposal.applied(environment), trial.run_id
        run = self._runner.known_run(run_id)
        if run is None:
            run, used = self._runner.evaluate(self._runner.build(environment), self._runner.evalset, spent)
            spent = spent + used
            if not any(trial.decision == KEPT for trial in entries.trials):
                self._journal.add({"baseline_run": run.id, **used.plain()})
        first = entries.baseline_run or run.id
        return _State(first_run=first, environment=environment, run=run, spent=spent, trials=list(entries.trials))

    def _go_on(self, state: _State) -> str:
        """Try the remaining proposals and record each trial; return why the search stopped."""
        tried_proposals = {trial.proposal.digest for trial in state.trials}
        tried_configurations = {trial.configuration for trial in state.trials} | {configuration_digest(self._baseline)}
        proposals, repeated = self._proposals_for(state), 0
        while not (stop := self._stop(state)):
            proposal = next(proposals, None)
            if proposal is None:
                return "there were no more proposals"
            candidate = proposal.applied(state.environment)
            digest = configuration_digest(candidate)
            if proposal.digest in tried_proposals or digest in tried_configurations:
                repeated += 1
                if callable(self._proposals) and repeated >= _MAX_REPEATED:
                    return f"the last {repeated} proposals had all been tried before"
                continue
            repeated = 0
            try:
                trial, run = self._runner.attempt(proposal, candidate, state.trials, state.run, state.spent)
            except BudgetExceededError as cut:
                self._journal.add_interruption(len(state.trials) + 1, cut.used.plain())
                return f"the budget ended trial {len(state.trials) + 1}, which does not count: {cut}"
            self._journal.add(trial.plain())
            state.trials.append(trial)
            tried_proposals.add(proposal.digest)
            tried_configurations.add(digest)
            cost = trial.cost if trial.run_id else 0.0
            state.spent += Spent(seconds=trial.seconds, tokens=trial.tokens, cost=cost)
            if trial.decision == KEPT and run is not None:
                state.environment, state.run = candidate, run
        return stop

    def _proposals_for(self, state: _State) -> Iterator[Proposal]:
        if not callable(self._proposals):
            yield from self._proposals
            return
        while True:
            standing = ResearchState(
                trials=tuple(state.trials),
                environment=dict(state.environment),
                run=state.run,
                objective=self._runner.objective,
            )
            proposal = self._proposals(standing)
            if proposal is None:
                return
            yield proposal

    def _stop(self, state: _State) -> str:
        """Return why the search must stop now, "" when it may continue."""
        if len(state.trials) >= self._runner.most:
            return f"the limit of {plural(self._runner.most, 'proposal')} was reached"
        rejected = 0
        for trial in reversed(state.trials):
            if trial.decision == KEPT:
                break
            rejected += 1
        if self._patience is not None and rejected >= self._patience:
            return f"{rejected} proposals in a row were not kept"
        if self._target is not None:
            summary = state.run.summary()[self._runner.objective]
            reached = (summary.pass_rate if summary.has_threshold else summary.mean).value
            if reached is not None and reached >= self._target:
                return f"the target was reached: {self._runner.objective} is {score(reached)}"
        return "" if limits_left(self._runner.budget, state.spent) is not None else "the budget is used up"

    def _check(self, entries: JournalEntries) -> None:
        """Check that the journal belongs to this search; write the first line of a new one."""
        runner = self._runner
        head: dict[str, Any] = {
            MARK: VERSION,
            "evalset": runner.evalset.name,
            "set_digest": runner.evalset.digest,
            "objective": runner.objective,
            "repeats": runner.repeats,
            "baseline": configuration_digest(self._baseline),
        }
        if entries.head is None:
            self._journal.add({**head, "begun": datetime.now(UTC).isoformat(timespec="seconds")})
            return
        for name, value in head.items():
            if entries.head.get(name) != value:
                raise EvalError(
                    f"The journal belongs to a search that differs in its {name.replace('_', ' ')}",
                    on=self._journal.path.name,
                    try_="another journal: decisions of one search do not apply to another",
                )

    def _confirmed(self, result: ResearchResult) -> ResearchResult:
        """Compare the winner with the baseline on the held-out set, when something was kept."""
        if self._holdout is None or not result.kept:
            return result
        runner, nothing = replace(self._runner, budget=Budget()), Spent()
        new, old = (
            runner.evaluate(runner.build(environment), self._holdout, nothing)[0].outcomes()
            for environment in (result.environment, self._baseline)
        )
        confirmation = compare(new, old, margin=runner.margin, seed=runner.seed, names=("winner", "baseline"))
        return replace(result, confirmation=confirmation)
