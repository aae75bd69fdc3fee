"""A stored evaluation run; its judgements, outcomes and tables are read from the store on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loomlib.dispatch import call
from loomlib.errors import EvalError
from loomlib.experiments import StudyConditions
from loomlib.store import EvalRunRow, Store, StoredResult, StoredScore
from loomlib.store.location import StoreLocation, locate_store

from ..compare import Comparison, Summary, summarize
from ..values.answers import CaseFailure
from ..values.cases import EvalCase
from ..values.eval_set import EvalSet
from ..values.evaluator import NotApplicable, Score
from ..values.judgement import Judgement
from ..values.outcomes import Outcome
from .assignment import EvaluatorAssignment
from .ledger import EvalLedger
from .outcome_rows import read_outcomes
from .stored_rows import answer_of_row, judge_failures_of, score_of_row
from .stored_runs import read_set

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetName:
    """The target of a stored run.

    Attributes:
        name: The name shown in summaries.
        key: Identity for reusing answers; "" when they are not reused.
        labels: Provenance labels shown beside every number.
        agent_arn: The agent's ARN; None for a function.
    """

    name: str
    key: str
    labels: tuple[str, ...] = ()
    agent_arn: str | None = None


class EvalRun:
    """A stored evaluation run, returned by `loom.evaluate` and `EvalRun.load`.

    Examples:
        >>> run = EvalRun.load(None, "eval-20261121-213000-1a2b3c")
        >>> run.summary()
        >>> run.rows().sort_values("cost")
        >>> run.compare(baseline)
    """

    def __init__(self, row: EvalRunRow, location: StoreLocation, *, evalset: EvalSet | None = None) -> None:
        """Create the run from a stored row.

        Args:
            row: The run's row.
            location: The store with the run.
            evalset: The run's set; None reads it from the store on demand.
        """
        self._row, self._location = row, location
        if evalset is not None:
            self.__dict__["evalset"] = evalset

    @classmethod
    def load(cls, store: Store | str | None, id: str) -> EvalRun:
        """Return a stored run.

        Args:
            store: An open store, a database URL or path; None for the database of the settings.
            id: The run's id.

        Raises:
            EvalError: There is no such run; the error lists the newest ones.
        """
        location = locate_store(store)
        with location.open() as opened:
            return cls(EvalLedger(opened, id).stored, location)

    @property
    def id(self) -> str:
        """Run id; pass it to `evaluate(run_id=…)` to resume the run."""
        return self._row.id

    @property
    def name(self) -> str:
        """The run's name, "" for none."""
        return self._row.name or ""

    @property
    def state(self) -> str:
        """State of the run: "complete", "stopped" (a budget ended it), "interrupted" or "running"."""
        return self._row.state

    @property
    def reason(self) -> str:
        """Why the run stopped early, "" when it did not."""
        return self._row.reason or ""

    @property
    def repeats(self) -> int:
        """How many times each case is run."""
        return self._row.repeats

    @property
    def target(self) -> TargetName:
        """What was evaluated."""
        row = self._row
        return TargetName(name=row.target_name, key=row.target_key, labels=row.labels, agent_arn=row.agent_arn)

    @property
    def labels(self) -> tuple[str, ...]:
        """Provenance labels shown beside every number, such as `simulated`."""
        return self._row.labels

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The names of the evaluators."""
        return tuple(dict.fromkeys(evaluator.name for evaluator in self._assignment.evaluators))

    @property
    def chosen(self) -> tuple[str, ...]:
        """The evaluators that the caller of `evaluate` named; needed to resume the run."""
        return tuple(self._row.design.get("chosen", ()))

    @property
    def created_at(self) -> datetime:
        """When the run started."""
        return self._row.created_at

    @property
    def store(self) -> StoreLocation:
        """The store with the run."""
        return self._location

    def evaluators_at(self, position: int) -> tuple[str, ...]:
        """Return the names of the evaluators of the case at a position in the set."""
        return tuple(self._assignment.evaluators[index].name for index in self._assignment.of(position))

    @cached_property
    def evalset(self) -> EvalSet:
        """The eval set as stored with the run."""
        with self._location.open() as store:
            row = store.eval_runs.get_set(self._row.set_digest)
        if row is None:
            raise EvalError(
                "The eval set of the run is not in the store", on=self.id, try_="evaluate the set again, in a new run"
            )
        return read_set(row)

    @cached_property
    def _assignment(self) -> EvaluatorAssignment:
        return EvaluatorAssignment.read(self._row.design)

    def outcomes(self) -> list[Outcome]:
        """Return one outcome per case, repeat, evaluator and part: the input of summaries and comparisons."""
        with self._location.open() as store:
            return list(read_outcomes(store, self.id, self.evalset, self._assignment))

    def judgements(self) -> Iterator[Judgement]:
        """Yield every answered case and repeat with its verdicts, read a few hundred at a time."""
        after = (-1, -1)
        while True:
            with self._location.open() as store:
                page = self._page(store, after, _PAGE)
            yield from page
            if len(page) < _PAGE:
                return
            after = (page[-1].repeat, page[-1].position)

    def judgements_at(self, units: Sequence[tuple[int, int]]) -> list[Judgement]:
        """Return the judgements of some (position in the set, repeat), without those not answered yet."""
        judgements: list[Judgement] = []
        with self._location.open() as store:
            for position, repeat in units:
                page = self._page(store, (repeat, position - 1), 1)
                judgements += [
                    judgement for judgement in page if (judgement.position, judgement.repeat) == (position, repeat)
                ]
        return judgements

    def __getitem__(self, case_id: str) -> tuple[Judgement, ...]:
        """Return the judgements of one case, one per repeat: `run["sum of two"][0].answer.text`."""
        position = next((at for at, case in enumerate(self.evalset.cases) if case.id == case_id), None)
        if position is None:
            first_ids = ", ".join(case.id for case in self.evalset.cases[:3])
            raise EvalError("The run has no such case", on=str(case_id)[:80], try_=f"a case of its set: {first_ids}, …")
        return tuple(self.judgements_at([(position, repeat) for repeat in range(self.repeats)]))

    def _page(self, store: Store, after: tuple[int, int], limit: int) -> list[Judgement]:
        cases: tuple[EvalCase, ...] = self.evalset.cases
        page = store.eval_answers.of_run(self.id, after=after, limit=limit)
        scores: dict[int, list[StoredScore]] = {}
        for score in store.eval_answers.scores_of([answer.id for _, answer in page]):
            scores.setdefault(score.answer_id, []).append(score)
        return [
            Judgement(
                case_id=cases[result.place].id,
                position=result.place,
                repeat=result.repeat,
                is_reused=result.is_reused,
                answer=answer_of_row(row, repeat=result.repeat),
                verdicts=self._verdicts(cases[result.place], result, scores.get(row.id, ())),
            )
            for result, row in page
        ]

    def _verdicts(
        self, case: EvalCase, result: StoredResult, stored: Sequence[StoredScore]
    ) -> dict[str, tuple[Score, ...] | NotApplicable | CaseFailure]:
        verdicts: dict[str, tuple[Score, ...] | NotApplicable | CaseFailure] = {}
        failures = judge_failures_of(result.judge_failures)
        for index in self._assignment.of(result.place):
            evaluator = self._assignment.evaluators[index]
            scores = [
                score_of_row(row)
                for row in stored
                if row.evaluator_digest == evaluator.digest and row.case_digest == case.digest
            ]
            if evaluator.name in failures:
                verdicts[evaluator.name] = failures[evaluator.name]
            elif scores and isinstance(scores[0], NotApplicable):
                verdicts[evaluator.name] = scores[0]
            elif scores:
                verdicts[evaluator.name] = tuple(score for score in scores if isinstance(score, Score))
        return verdicts

    def scores(self) -> pd.DataFrame:
        """Return one row per case, repeat, evaluator and part: value, passed, state, rationale."""
        return call("EvalRun.scores", self)

    def rows(self) -> pd.DataFrame:
        """Return one row per case and repeat: each evaluator's value beside latency, TTFT, tokens, calls and cost."""
        return call("EvalRun.rows", self)

    def failures(self) -> pd.DataFrame:
        """Return one row per failure to run or to score, with its kind and message."""
        return call("EvalRun.failures", self)

    def summary(self) -> Summary:
        """Return each evaluator's estimates with intervals.

        Cases that failed to run or to be scored are excluded from averages and counted separately.
        """
        title = f"{self.target.name} on {self._set_name}"
        stored = self._row.summary
        if "evaluators" in stored:
            return Summary.read(stored, title=title)
        return replace(
            summarize(self.outcomes(), title=title),
            conditions=StudyConditions.read(stored.get("machine")),
            timed=tuple(stored.get("timed", ())),
        )

    def compare(self, baseline: EvalRun, **options: Any) -> Comparison:
        """Compare this run with a baseline, paired by case.

        On the comparison's page, each changed case can be expanded to show both answers and where their paths differ.

        Args:
            baseline: The run to compare with.
            **options: Options of `loomlib.evals.compare.compare`.
        """
        return call("EvalRun.compare", self, baseline, **options)

    def figures(self, baseline: EvalRun | None = None) -> dict[str, go.Figure]:
        """Return the charts `quality` (each evaluator's estimate) and `taken` (latency, tokens or cost per case).

        Args:
            baseline: A run to show beside this one in `quality`.
        """
        return call("EvalRun.figures", self, baseline)

    @property
    def _set_name(self) -> str:
        return str(self._row.design.get("set_name", ""))

    def __repr__(self) -> str:
        return f"<EvalRun {self.id}: {self.target.name} on {self._set_name}, {self.state}>"

    def __str__(self) -> str:
        state = f"{self.state}: {self.reason}" if self.reason else self.state
        return f"{' · '.join((f'evaluation {self.id}', state, *self.labels))}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return call("EvalRun.html", self)
