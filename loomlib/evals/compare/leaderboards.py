"""Rank several runs on the cases that all of them answered; runs without a significant difference share a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from loomlib.presentation.formats import number, plural
from loomlib.presentation.text import printable
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.multiplicity import holm
from loomlib.statistics.rates import estimate_rate

from ..values.outcomes import Outcome
from .estimate_text import estimate_cell
from .gathered import CaseScores, EvaluatorResults, gather
from .page import page, table
from .pairing import RATE, SCORE, Pairing, Unpaired, value_of
from .verdicts import LEVEL, paired_test

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("place", "run", "{measure} [95 %]", "no difference from", "no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One run's place.

    Attributes:
        place: 1 + the number of runs that are significantly better (adjusted p below 5 %).
        name: The run.
        estimate: Its pass rate or mean score.
        tied_with: Runs without a significant difference.
        no_score: Number of its attempts (case × repeat) without a score, over all its cases, shared or not.
    """

    place: int
    name: str
    estimate: Estimate
    tied_with: tuple[str, ...]
    no_score: int


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Runs under one evaluator, best first, on their `n` shared cases; `left_out` cases are not in all runs."""

    evaluator: str
    measure: str
    standings: tuple[LeaderboardRow, ...]
    n: int
    left_out: int
    labels: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Describe who leads and on what evidence."""
        if not self.standings or not self.n:
            return ["The runs share no case for which all of them have a score."]
        first = [standing.name for standing in self.standings if standing.place == 1]
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        tests = len(self.standings) * (len(self.standings) - 1) // 2
        lead = f"{first[0]} leads" if len(first) == 1 else f"{', '.join(first)} share first place"
        sentences = [f"{lead} on {self.evaluator}{marks}, {self.measure} on {plural(self.n, 'shared case')}."]
        if tests > 1:
            sentences.append(f"Places are based on {tests} paired tests with p-values adjusted for all of them (Holm).")
        if self.left_out:
            sentences.append(
                f"{plural(self.left_out, 'case')} left out: missing from a run, edited, or without a score."
            )
        return sentences

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each run."""
        return [
            (
                str(standing.place), standing.name, estimate_cell(standing.estimate, percent=self.measure == RATE),
                ", ".join(standing.tied_with) or "–", number(standing.no_score, 0),
            )
            for standing in self.standings
        ]  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names of `rows()`."""
        return tuple(name.format(measure=self.measure) for name in COLUMNS)

    def table(self) -> pd.DataFrame:
        """Return one row of text for each run as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(self.columns)).set_index("place")

    def summary(self) -> dict[str, object]:
        """Return the leaderboard as JSON values."""
        return {
            "evaluator": self.evaluator,
            "measure": self.measure,
            "n": self.n,
            "left_out": self.left_out,
            "standings": [
                {
                    "place": standing.place,
                    "name": standing.name,
                    "estimate": standing.estimate.summary(),
                    "tied_with": list(standing.tied_with),
                    "no_score": standing.no_score,
                }
                for standing in self.standings
            ],
        }

    def __str__(self) -> str:
        lines = [f"{place}. {name}: {estimate}" for place, name, estimate, *_ in self.rows()]
        return printable("\n".join([*self.sentences(), *lines]))

    def _repr_html_(self) -> str:
        return page("Leaderboard", self.sentences(), table(self.columns, self.rows()))


def leaderboard(runs: Mapping[str, Sequence[Outcome]], *, evaluator: str | None = None) -> Leaderboard:
    """Rank runs under one evaluator; higher is better.

        leaderboard({run.target.name: run.outcomes() for run in runs}, evaluator="trajectory")

    Args:
        runs: Outcomes by the run's name.
        evaluator: The evaluator; by default the only one that all runs share.
    """
    gathered = {name: gather(outcomes) for name, outcomes in runs.items()}
    chosen = _evaluator(gathered, evaluator)
    results = {name: by_evaluator[chosen] for name, by_evaluator in gathered.items()}
    measure = RATE if all(result.has_threshold for result in results.values()) else SCORE
    ids, applicable_count = _shared(list(results.values()))
    cases = {name: [result.cases[id] for id in ids] for name, result in results.items()}
    bounded = all(result.bounds is not None for result in results.values())
    different = _different(cases, measure)
    means = {
        name: sum(value_of(c, measure) for c in cases_of) / len(cases_of) if cases_of else 0.0
        for name, cases_of in cases.items()
    }
    standings = [
        LeaderboardRow(
            place=1 + sum((name, other) in different and means[other] > means[name] for other in runs),
            name=name,
            estimate=_estimate(cases[name], measure, bounded=bounded),
            tied_with=tuple(other for other in runs if other != name and (name, other) not in different),
            no_score=sum(case.failed for case in results[name].cases.values()),
        )
        for name in runs
    ]
    return Leaderboard(
        evaluator=chosen,
        measure=measure,
        standings=tuple(sorted(standings, key=lambda standing: (standing.place, -means[standing.name]))),
        n=len(ids),
        left_out=applicable_count - len(ids),
        labels=tuple(dict.fromkeys(label for result in results.values() for label in result.labels)),
    )


def _evaluator(gathered: Mapping[str, Mapping[str, EvaluatorResults]], evaluator: str | None) -> str:
    if not gathered:
        raise ValueError("a leaderboard needs at least one run")
    first, *others = gathered.values()
    shared = [name for name in first if all(name in other for other in others)]
    if evaluator is None and len(shared) == 1:
        return shared[0]
    if evaluator not in shared:
        raise ValueError(f"name an evaluator that all runs share ({', '.join(shared) or 'there is none'})")
    return evaluator


def _shared(results: Sequence[EvaluatorResults]) -> tuple[list[str], int]:
    """Return the ids of cases with equal content and a score in all runs, and the total number of cases."""
    first, *others = (result.cases for result in results)
    ids = [
        id
        for id, case in first.items()
        if case.scored
        and all((o := other.get(id)) and o.scored and o.case_digest == case.case_digest for other in others)
    ]
    applicable = {id for result in results for id, case in result.cases.items() if case.is_applicable}
    return ids, len(applicable)


def _different(cases: Mapping[str, Sequence[CaseScores]], measure: str) -> set[tuple[str, str]]:
    """Return the pairs of runs, in both orders, with a significant difference by a paired test."""
    pairs = list(combinations(cases, 2))
    values: list[float] = []
    for one, other in pairs:
        both = tuple(zip(cases[one], cases[other], strict=True))
        p_value = paired_test(Pairing(pairs=both, unpaired=Unpaired(), measure=measure)).p_value
        values.append(1.0 if p_value is None else p_value)
    significant = [names for names, p in zip(pairs, holm(values), strict=True) if p < LEVEL]
    return {*significant, *((other, one) for one, other in significant)}


def _estimate(cases: Sequence[CaseScores], measure: str, *, bounded: bool) -> Estimate:
    if measure == RATE:
        return estimate_rate([case.passes for case in cases], [case.tries for case in cases])
    return estimate_mean([case.value for case in cases], bounds=(0.0, 1.0) if bounded else None)
