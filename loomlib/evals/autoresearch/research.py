"""Autoresearch: propose a change, run the set, keep or drop it by the paired verdict, note it, go on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from loomlib.errors import EvalError
from loomlib.presentation.formats import plural

from ..compare import compare
from ..runs import Budget, EvalRun
from .candidates import Attempts, CutShort, Laboratory
from .journal import MARK, VERSION, Entries, Journal
from .proposals import Proposal, configuration_digest
from .result import ResearchResult
from .spending import Spent, limits_left, spent_by
from .trials import KEPT, Trial

if TYPE_CHECKING:
    from loomlib.store import Store

    from ..registry import Choice
    from ..values.eval_set import EvalSet

_REPEATS_ENDURED: Final = 10


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What a proposer is told: all trials so far, the variables of what is best, and its run."""

    trials: tuple[Trial, ...]
    environment: Mapping[str, str]
    run: EvalRun
    objective: str


Proposer: TypeAlias = "Callable[[Standing], Proposal | None]"
"""Asked for the next proposal; None ends the research."""


@dataclass(kw_only=True)
class _State:
    """A research under way: `environment` and `run` are those of the best so far."""

    first_run: str
    environment: dict[str, str]
    run: EvalRun
    spent: Spent
    trials: list[Trial] = field(default_factory=list[Trial])


class Autoresearch:
    """A research, ready to `run()`; with the same journal it goes on where it stopped.

        research = Autoresearch(
            AgentCandidates(bench, "assistant"), EvalSet.read("assistant"), objective="trajectory",
            proposals=[Proposal.prompt("You are …"), Proposal.model("…")], journal="assistant.research.jsonl",
        )
        research.run().table()

    Each proposal is applied to the best so far and asked the whole set; it is kept when `objective` (an evaluator's
    name) is better by the paired test and no other evaluator is worse by more than `margin`. All tests together spend
    `alpha` (see `next_alpha`), over at most `most_trials` proposals. A proposal whose content, or whose resulting
    variables, were tried before is passed over, in this process or in any that wrote the journal.

    It stops when proposals run out, after `most_trials`, after `patience` in a row that were not kept, when the
    objective reaches `target`, or when `budget` is used up. `holdout` is a second set that no proposal ever sees: the
    winner is compared with the baseline on it, because what was chosen on a set is flattered by that set. Other
    options are those of `loom.evaluate`.
    """

    def __init__(
        self,
        laboratory: Laboratory | Callable[[Mapping[str, str]], Any],
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
        if not 0 < alpha < 1:
            raise ValueError(f"alpha lies between 0 and 1, not {alpha}")
        for what, value in (("most_trials", most_trials), ("patience", patience)):
            if value is not None and value < 1:
                raise ValueError(f"{what} must be at least 1, not {value}")
        self._attempts = Attempts(
            laboratory=laboratory,
            evalset=evalset,
            evaluators=evaluators,
            objective=objective,
            repeats=repeats,
            alpha=alpha,
            margin=margin,
            most=most_trials,
            seed=seed,
            budget=budget or Budget(),
            store=store if store is not None else getattr(laboratory, "store", None),
            options=run_options,
        )
        self._proposals, self._journal, self._baseline = proposals, Journal(journal), dict(baseline or {})
        self._patience, self._target, self._holdout = patience, target, holdout

    async def arun(self) -> ResearchResult:
        """`run`, awaited."""
        return await asyncio.to_thread(self.run)

    def run(self) -> ResearchResult:
        """Try what there is to try, and return what became of it."""
        with self._journal.held():
            noted = self._journal.read()
            self._check(noted)
            try:
                state = self._resumed(noted)
            except CutShort as cut:
                raise EvalError(f"The budget ended the baseline's run: {cut}", try_="a larger budget") from cut
            stop = self._go_on(state)
        return self._confirmed(
            ResearchResult(
                trials=tuple(state.trials),
                environment=state.environment,
                objective=self._attempts.objective,
                alpha=self._attempts.alpha,
                most_trials=self._attempts.most,
                stopped=stop,
                baseline_run=state.first_run,
                best_run=state.run.id,
                damaged=noted.damaged,
                labels=state.run.labels,
            )
        )

    def _resumed(self, noted: Entries) -> _State:
        """The state that the journal tells, with the best's run, which is made if no store has it."""
        environment, run_id, spent = dict(self._baseline), noted.baseline_run, spent_by(noted)
        for trial in noted.trials:
            if trial.decision == KEPT:
                environment, run_id = trial.proposal.applied(environment), trial.run_id
        run = self._attempts.known_run(run_id)
        if run is None:
            run, used = self._attempts.evaluate(self._attempts.build(environment), self._attempts.evalset, spent)
            spent = spent + used
            if not any(trial.decision == KEPT for trial in noted.trials):
                self._journal.add({"baseline_run": run.id, **used.plain()})
        first = noted.baseline_run or run.id
        return _State(first_run=first, environment=environment, run=run, spent=spent, trials=list(noted.trials))

    def _go_on(self, state: _State) -> str:
        """Trial after trial, each noted as it ends; returns why it stopped."""
        tried = {trial.proposal.digest for trial in state.trials}
        seen = {trial.configuration for trial in state.trials} | {configuration_digest(self._baseline)}
        proposals, repeated = self._each(state), 0
        while not (stop := self._stop(state)):
            proposal = next(proposals, None)
            if proposal is None:
                return "there was nothing more to propose"
            candidate = proposal.applied(state.environment)
            digest = configuration_digest(candidate)
            if proposal.digest in tried or digest in seen:
                repeated += 1
                if callable(self._proposals) and repeated >= _REPEATS_ENDURED:
                    return f"the last {repeated} proposals had all been tried before"
                continue
            repeated = 0
            try:
                trial, run = self._attempts.attempt(proposal, candidate, state.trials, state.run, state.spent)
            except CutShort as cut:
                return f"the budget ended trial {len(state.trials) + 1}, which counts as not tried: {cut}"
            self._journal.add(trial.plain())
            state.trials.append(trial)
            tried.add(proposal.digest)
            seen.add(digest)
            cost = trial.cost if trial.run_id else 0.0
            state.spent += Spent(seconds=trial.seconds, tokens=trial.tokens, cost=cost)
            if trial.decision == KEPT and run is not None:
                state.environment, state.run = candidate, run
        return stop

    def _each(self, state: _State) -> Iterator[Proposal]:
        if not callable(self._proposals):
            yield from self._proposals
            return
        while True:
            standing = Standing(
                trials=tuple(state.trials),
                environment=dict(state.environment),
                run=state.run,
                objective=self._attempts.objective,
            )
            proposal = self._proposals(standing)
            if proposal is None:
                return
            yield proposal

    def _stop(self, state: _State) -> str:
        """Why to stop now, "" to go on."""
        if len(state.trials) >= self._attempts.most:
            return f"the limit of {plural(self._attempts.most, 'proposal')} is reached"
        unlucky = 0
        for trial in reversed(state.trials):
            if trial.decision == KEPT:
                break
            unlucky += 1
        if self._patience is not None and unlucky >= self._patience:
            return f"{unlucky} proposals in a row were not kept"
        if self._target is not None:
            summary = state.run.summary()[self._attempts.objective]
            reached = (summary.pass_rate if summary.has_bar else summary.mean).value
            if reached is not None and reached >= self._target:
                return f"the target is reached: {self._attempts.objective} is {reached:.3g}"
        return "" if limits_left(self._attempts.budget, state.spent) is not None else "the budget is used up"

    def _check(self, noted: Entries) -> None:
        """A journal belongs to one research; a new one gets its first line."""
        attempts = self._attempts
        head: dict[str, Any] = {
            MARK: VERSION,
            "evalset": attempts.evalset.name,
            "set_digest": attempts.evalset.digest,
            "objective": attempts.objective,
            "repeats": attempts.repeats,
            "baseline": configuration_digest(self._baseline),
        }
        if noted.head is None:
            self._journal.add({**head, "begun": datetime.now(UTC).isoformat(timespec="seconds")})
            return
        for name, value in head.items():
            if noted.head.get(name) != value:
                raise EvalError(
                    f"The journal is of a research with another {name.replace('_', ' ')}",
                    on=self._journal.path.name,
                    try_="another journal: verdicts of one research mean nothing in another",
                )

    def _confirmed(self, result: ResearchResult) -> ResearchResult:
        """The winner against the baseline on the set that no proposal saw; only when something was kept."""
        if self._holdout is None or not result.kept:
            return result
        attempts, nothing = replace(self._attempts, budget=Budget()), Spent()
        new, old = (
            attempts.evaluate(attempts.build(environment), self._holdout, nothing)[0].outcomes()
            for environment in (result.environment, self._baseline)
        )
        found = compare(new, old, margin=attempts.margin, seed=attempts.seed, names=("winner", "baseline"))
        return replace(result, confirmation=found)
