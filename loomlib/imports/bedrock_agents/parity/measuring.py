"""Run both agents on the same cases, and judge the pairs of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from loomlib.errors import EvalError, EvalInterruptedError
from loomlib.evals import EvalSet
from loomlib.evals.runs import EvalRun, aevaluate
from loomlib.evals.targets import Target
from loomlib.evals.values.evaluator import Evaluator
from loomlib.experiments import ProgressSnapshot, choose_progress, new_id
from loomlib.jobs import OwnThread
from loomlib.presentation.formats import number
from loomlib.store import Store

from ..features import Feature
from .agent_parity import AgentParity
from .alike_gate import LEAST_ALIKE, alike_share
from .judged_pairs import JudgedPair, judge_pairs, labels_of
from .names import ToolNames
from .pairs import AnswerPair, pairs_of_runs, pairs_with_itself
from .recorded_answers import RecordedAnswers
from .rule import AlikeRule

_LOGGER: Final = "loomlib.imports"


def answered(answer: str, case: object) -> bool:
    """Return whether an answer has text; the evaluator of the runs whose pairs are judged later."""
    return bool(answer.strip())


@dataclass(frozen=True, kw_only=True)
class ParitySubject:
    """The compared agents and their names on the page.

    Attributes:
        name: The agent's name.
        old: The old agent, such as "Bedrock Agent v7".
        new: Its successor, such as "weather (AgentCore)".
        names: The names of the old agent's tools.
        features: The old agent's features, each with its outcome.
        notes: Notes about the origin of the pairs.
    """

    name: str
    old: str
    new: str
    names: ToolNames = field(default_factory=ToolNames)
    features: tuple[Feature, ...] = ()
    notes: tuple[str, ...] = ()


def measure_parity(
    old: Target,
    new: Target,
    cases: EvalSet,
    subject: ParitySubject,
    *,
    store: Store,
    rule: AlikeRule | None = None,
    least: float = LEAST_ALIKE,
    repeats: int = 1,
    parity_id: str | None = None,
    concurrency: int = 2,
    timeout_s: float | None = 120.0,
    **options: Any,
) -> AgentParity:
    """Ask both agents the same cases at the same time, and judge whether they behave alike.

    Results are stored as they arrive. A stopped comparison resumes with its id; answers of the same versions
    to the same cases are reused.

    Args:
        old: The old agent.
        new: Its successor.
        cases: The cases.
        subject: The names of both agents and of their tools.
        store: Where the runs are stored.
        rule: The rule by which two answers behave alike.
        least: The minimum share of cases that must behave alike.
        repeats: Number of times that each case is asked; with repeats the old agent is also compared with itself.
        parity_id: The id of a comparison to resume.
        concurrency: Number of cases that each agent is asked concurrently.
        timeout_s: Time limit of a turn in seconds.
        **options: Further options of `loom.evaluate`: `retries`, `reuse`, `budget` …

    Raises:
        EvalError: There are no cases, or the stored comparison with this id is a different one.
        EvalInterruptedError: The comparison was stopped, also by a budget; it can be resumed.
    """
    if not cases.cases:
        raise EvalError("There are no cases to ask", on=cases.name, try_="a file with prompts")
    id, rule = parity_id or new_id("parity"), rule or AlikeRule()
    evaluators = rule.evaluators()

    async def work(_report: Callable[[ProgressSnapshot], None]) -> AgentParity:
        def asked(target: Target, side: str) -> Coroutine[Any, Any, EvalRun]:
            return aevaluate(
                target, cases, [answered], repeats, name=f"{subject.name}: {side} agent", run_id=f"{id}-{side}",
                progress=choose_progress(f"{subject.name}: {side} agent", logger=_LOGGER), store=store,
                concurrency=concurrency, timeout_s=timeout_s, **options,
            )  # fmt: skip

        runs = await asyncio.gather(asked(old, "old"), asked(new, "new"))
        # Before judging: the stored run of the verdicts would have only the cases that were asked.
        if stopped := next((run for run in runs if run.state == "stopped"), None):
            raise EvalInterruptedError(
                f"The comparison was stopped: {stopped.reason}; its answers are stored",
                on=id,
                try_=f'parity_id="{id}" with a larger budget',
            )
        pairs = list(pairs_of_runs(runs[0], runs[1], subject.names))
        judging = _Judging(store=store, names=subject.names, evaluators=evaluators, connect=_connector(new), id=id)
        judged, run = await judging.judge(pairs, name=subject.name, part="judged", labels=runs[1].labels)
        itself, run_ids = None, {"old": runs[0].id, "new": runs[1].id}
        if run is not None:
            run_ids["judged"] = run.id
        if repeats > 1:
            own, own_run = await judging.judge(
                list(pairs_with_itself(pairs)), name=f"{subject.name} with itself", part="itself", labels=runs[0].labels
            )
            itself = alike_share(own)
            run_ids |= {"itself": own_run.id} if own_run is not None else {}
        return AgentParity(
            id=id,
            name=subject.name,
            old=subject.old,
            new=subject.new,
            rule=rule,
            judged=judged,
            least=least,
            features=subject.features,
            itself=itself,
            labels=tuple(dict.fromkeys((*runs[0].labels, *runs[1].labels, *labels_of(judged)))),
            conditions=runs[1].summary().conditions,
            run_ids=run_ids,
            notes=(*subject.notes, *_reused(runs)),
        )

    return _in_own_thread(work, id)


def judge_recorded(
    pairs: Sequence[AnswerPair],
    subject: ParitySubject,
    *,
    store: Store,
    rule: AlikeRule | None = None,
    least: float = LEAST_ALIKE,
    parity_id: str | None = None,
    labels: Sequence[str] = (),
    connect: Callable[[Evaluator], Evaluator] | None = None,
    noun: str = "session",
) -> AgentParity:
    """Judge pairs of recorded answers, such as those of shadow traffic.

    Args:
        pairs: The pairs.
        subject: The names of both agents and of their tools.
        store: Where the verdicts are stored.
        rule: The rule by which two answers behave alike.
        least: The minimum share of cases that must behave alike.
        parity_id: The id of the comparison.
        labels: Provenance labels.
        connect: Connects a judge that was given by name to its model.
        noun: The unit to which the pairs of one case belong.
    """
    id, rule = parity_id or new_id("parity"), rule or AlikeRule()
    evaluators = rule.evaluators()

    async def work(_report: Callable[[ProgressSnapshot], None]) -> AgentParity:
        judging = _Judging(store=store, names=subject.names, evaluators=evaluators, connect=connect, id=id)
        judged, run = await judging.judge(pairs, name=subject.name, part="judged", labels=labels)
        return AgentParity(
            id=id, name=subject.name, old=subject.old, new=subject.new, rule=rule, judged=judged, least=least,
            features=subject.features, labels=(*labels, *labels_of(judged)),
            run_ids={} if run is None else {"judged": run.id}, notes=subject.notes, noun=noun,
        )  # fmt: skip

    return _in_own_thread(work, id)


@dataclass(frozen=True, kw_only=True)
class _Judging:
    """Judges pairs by evaluating the recorded answers."""

    store: Store
    names: ToolNames
    evaluators: Sequence[Evaluator]
    connect: Callable[[Evaluator], Evaluator] | None
    id: str

    async def judge(
        self, pairs: Sequence[AnswerPair], *, name: str, part: str, labels: Sequence[str]
    ) -> tuple[tuple[JudgedPair, ...], EvalRun | None]:
        complete = [pair for pair in pairs if pair.is_answered]
        if not complete:
            return judge_pairs(pairs, None), None
        evalset = EvalSet(name=f"{name}, judged", cases=tuple(pair.expecting(self.names) for pair in complete))
        target = RecordedAnswers(complete, name=name, labels=labels, connect=self.connect)
        run = await aevaluate(
            target, evalset, list(self.evaluators), name=f"{name}: {part}", run_id=f"{self.id}-{part}",
            store=self.store, progress=choose_progress(f"{name}: {part}", logger=_LOGGER),
        )  # fmt: skip
        return judge_pairs(pairs, run), run


def _reused(runs: Sequence[EvalRun]) -> list[str]:
    """Return a note if answers were reused, in which case the agents were not asked at the same time."""
    counts = [sum(item.is_reused for item in run.judgements()) for run in runs]
    if not any(counts):
        return []
    return [
        f"Stored answers of the same versions were reused: {number(counts[0], 0)} of the old agent, "
        f"{number(counts[1], 0)} of the new one. Their times are the original measurements; reuse=False asks again."
    ]


def _connector(target: Target) -> Callable[[Evaluator], Evaluator] | None:
    method = getattr(target, "connected", None)
    return cast("Callable[[Evaluator], Evaluator]", method) if callable(method) else None


def _in_own_thread(work: Callable[[Callable[[ProgressSnapshot], None]], Any], id: str) -> AgentParity:
    thread = OwnThread[ProgressSnapshot, AgentParity](
        work,
        choose_progress("parity", logger=_LOGGER),
        name="loom-parity",
        interrupted=lambda: EvalInterruptedError(
            "The comparison was stopped; its answers and verdicts are stored", on=id, try_=f'parity_id="{id}"'
        ),
    )
    return thread.wait()
