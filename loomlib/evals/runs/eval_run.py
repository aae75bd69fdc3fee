"""An evaluation as it is stored: outcomes, scores beside latency and cost, failures, the summary, a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.errors import EvalError

from ...store.location import StorePlace, place_of
from ..values.answers import CaseFailure
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.evaluator import NotApplicable, Score
from ..values.judgement import Judgement
from ..values.outcomes import Outcome
from .outcome_rows import read_outcomes
from .panel import Bench
from .stored_rows import answer_of_row, judge_failures_of, score_of_row
from .stored_sets import set_of_row

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from loomlib.store import EvalRunRow, Store, StoredResult, StoredScore

    from ..compare import Comparison, Summary

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetName:
    """What was evaluated: its name, the key that its answers are kept under, and what to say beside its numbers."""

    name: str
    key: str
    labels: tuple[str, ...] = ()
    agent_arn: str | None = None


class EvalRun:
    """One evaluation; made by `loom.evaluate` and `EvalRun.load`. What it tells is read when it is asked for.

    `state` is "complete", "stopped" (a budget ended it, `reason` says which), "interrupted" or "running".

        run.summary()
        run.rows().sort_values("cost")
        run.compare(baseline)
    """

    def __init__(self, row: EvalRunRow, place: StorePlace, *, evalset: EvalSet | None = None) -> None:
        self._row, self._place = row, place
        if evalset is not None:
            self.__dict__["evalset"] = evalset

    @classmethod
    def load(cls, store: Store | str | None, id: str) -> EvalRun:
        """The stored run of that id; `EvalError` names the newest ones when there is none."""
        place = place_of(store)
        with place.open() as opened:
            row = opened.eval_runs.get(id)
            if row is None:
                known = ", ".join(each.id for each in opened.eval_runs.list(limit=5))
                try_ = f"one of {known}" if known else "agent.evaluate(evalset) makes the first one"
                raise EvalError("No such evaluation in the store", on=id[:80], try_=try_)
        return cls(row, place)

    @property
    def id(self) -> str:
        """By which it is resumed and loaded."""
        return self._row.id

    @property
    def name(self) -> str:
        """What its maker called it."""
        return self._row.name or ""

    @property
    def state(self) -> str:
        """How far it is."""
        return self._row.state

    @property
    def reason(self) -> str:
        """Why it stopped, "" when it did not."""
        return self._row.reason or ""

    @property
    def repeats(self) -> int:
        """How often each case is asked."""
        return self._row.repeats

    @property
    def target(self) -> TargetName:
        """What was evaluated."""
        row = self._row
        return TargetName(name=row.target_name, key=row.target_key, labels=row.labels, agent_arn=row.agent_arn)

    @property
    def labels(self) -> tuple[str, ...]:
        """What must be said beside every number of it."""
        return self._row.labels

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The names of those who judged."""
        return tuple(dict.fromkeys(each.name for each in self._bench.cards))

    @property
    def chosen(self) -> tuple[str, ...]:
        """The evaluators that the run itself named, as they were named: with `run_id` and these it goes on."""
        return tuple(self._row.design.get("chosen", ()))

    @property
    def created_at(self) -> datetime:
        """When it was begun."""
        return self._row.created_at

    def evaluators_at(self, place: int) -> tuple[str, ...]:
        """The names of those who judge the case at that place of the set."""
        return tuple(self._bench.cards[number].name for number in self._bench.of(place))

    @property
    def store(self) -> StorePlace:
        """Where it is kept."""
        return self._place

    @cached_property
    def evalset(self) -> EvalSet:
        """The cases, as they were when they were asked."""
        with self._place.open() as store:
            row = store.eval_runs.get_set(self._row.set_digest)
        if row is None:
            raise EvalError("The evaluation's set is not in the store", on=self.id)
        return set_of_row(row)

    @cached_property
    def _bench(self) -> Bench:
        return Bench.read(self._row.design)

    def outcomes(self) -> list[Outcome]:
        """One for each case, repeat, evaluator and part: what summaries and comparisons are made of."""
        with self._place.open() as store:
            return list(read_outcomes(store, self.id, self.evalset, self._bench))

    def judgements(self) -> Iterator[Judgement]:
        """Every case and repeat with its answer and all that was said of it, read a few hundred at a time."""
        after = (-1, -1)
        while True:
            with self._place.open() as store:
                page = self._page(store, after, _PAGE)
            yield from page
            if len(page) < _PAGE:
                return
            after = (page[-1].repeat, page[-1].place)

    def judgements_at(self, positions: Sequence[tuple[int, int]]) -> list[Judgement]:
        """The same for some (place in the set, repeat), in that order; what is not answered yet is left out."""
        found: list[Judgement] = []
        with self._place.open() as store:
            for place, repeat in positions:
                page = self._page(store, (repeat, place - 1), 1)
                found += [each for each in page if (each.place, each.repeat) == (place, repeat)]
        return found

    def __getitem__(self, case_id: str) -> tuple[Judgement, ...]:
        """What became of one case: a judgement for each repeat. `run["sum of two"][0].answer.text`."""
        place = next((n for n, case in enumerate(self.evalset.cases) if case.id == case_id), None)
        if place is None:
            known = ", ".join(case.id for case in self.evalset.cases[:3])
            raise EvalError("This run has no such case", on=str(case_id)[:80], try_=f"one of its own: {known} …")
        return tuple(self.judgements_at([(place, repeat) for repeat in range(self.repeats)]))

    def _page(self, store: Store, after: tuple[int, int], limit: int) -> list[Judgement]:
        cases: tuple[EvalCase, ...] = self.evalset.cases
        page = store.eval_answers.of_run(self.id, after=after, limit=limit)
        scores: dict[int, list[StoredScore]] = {}
        for score in store.eval_answers.scores_of([answer.id for _, answer in page]):
            scores.setdefault(score.answer_id, []).append(score)
        return [
            Judgement(
                case_id=cases[result.place].id,
                place=result.place,
                repeat=result.repeat,
                is_reused=result.is_reused,
                answer=answer_of_row(row, repeat=result.repeat),
                verdicts=self._verdicts(cases[result.place], result, scores.get(row.id, ())),
            )
            for result, row in page
        ]

    def _verdicts(
        self, case: EvalCase, result: StoredResult, scores: Sequence[StoredScore]
    ) -> dict[str, tuple[Score, ...] | NotApplicable | CaseFailure]:
        verdicts: dict[str, tuple[Score, ...] | NotApplicable | CaseFailure] = {}
        failures = judge_failures_of(result.judge_failures)
        for number in self._bench.of(result.place):
            card = self._bench.cards[number]
            said = [
                score_of_row(each)
                for each in scores
                if each.evaluator_digest == card.digest and each.case_digest == case.digest
            ]
            if card.name in failures:
                verdicts[card.name] = failures[card.name]
            elif said and isinstance(said[0], NotApplicable):
                verdicts[card.name] = said[0]
            elif said:
                verdicts[card.name] = tuple(each for each in said if isinstance(each, Score))
        return verdicts

    def scores(self) -> pd.DataFrame:
        """One row a case, repeat and evaluator (and part): value, passed, state, rationale."""
        return call("EvalRun.scores", self)

    def rows(self) -> pd.DataFrame:
        """One row a case and repeat: each evaluator's value beside latency, TTFT, tokens, tool calls and cost."""
        return call("EvalRun.rows", self)

    def failures(self) -> pd.DataFrame:
        """One row a failure to answer or to judge, with its kind and message."""
        return call("EvalRun.failures", self)

    def summary(self) -> Summary:
        """Each evaluator's estimates with their intervals; failures are counted apart and are in no number."""
        from ..compare import Summary, summarize

        title = f"{self.target.name} on {self._set_name}"
        if self._row.summary:
            return Summary.read(self._row.summary, title=title)
        return summarize(self.outcomes(), title=title)

    def compare(self, baseline: EvalRun, **options: Any) -> Comparison:
        """This run against `baseline`, paired by case (see `loomlib.evals.compare.compare`).

        Shown on a page, each case that went differently opens to both answers and to where their paths part.
        """
        return call("EvalRun.compare", self, baseline, **options)

    def figures(self, baseline: EvalRun | None = None) -> dict[str, go.Figure]:
        """Charts by name: `quality` (with the baseline's beside it) and `taken`, what each case took."""
        return call("EvalRun.figures", self, baseline)

    @property
    def _set_name(self) -> str:
        return str(self._row.design.get("set_name", ""))

    def __repr__(self) -> str:
        return f"<EvalRun {self.id}: {self.target.name} on {self._set_name}, {self.state}>"

    def __str__(self) -> str:
        how = f"{self.state}: {self.reason}" if self.reason else self.state
        head = " · ".join((f"evaluation {self.id}", how, *self.labels))
        return f"{head}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return call("EvalRun.html", self)
