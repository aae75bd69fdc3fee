"""Several runs in order, on the cases that all of them answered; runs that a paired test cannot part share a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from loomlib.presentation.formats import number, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.multiplicity import holm
from loomlib.statistics.rates import estimate_rate

from ..values.outcomes import Outcome
from .gathered import CaseResult, EvaluatorResults, gather
from .pairing import RATE, SCORE, Pairing, Unpaired, value_of
from .verdicts import LEVEL, paired_test
from .words import estimate_cell, printable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("place", "run", "{measure} [95 %]", "cannot be told from", "no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One run's place: 1 + the runs that are better beyond doubt (adjusted p below 5 %).

    `tied_with` are the runs that no test parts it from. `no_score` counts its case × repeat without a score over all
    its cases, the shared ones and the others.
    """

    place: int
    name: str
    estimate: Estimate
    tied_with: tuple[str, ...]
    no_score: int


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """Runs under one evaluator, best first, on their `n` shared cases; `left_out` cases are not in all of them."""

    evaluator: str
    measure: str
    standings: tuple[Standing, ...]
    n: int
    left_out: int
    labels: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Who leads, and whether that is more than luck."""
        if not self.standings or not self.n:
            return ["The runs have no case in common that all of them have a score for."]
        first = [each.name for each in self.standings if each.place == 1]
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        tests = len(self.standings) * (len(self.standings) - 1) // 2
        lead = f"{first[0]} leads" if len(first) == 1 else f"{', '.join(first)} share the first place"
        sentences = [f"{lead} by {self.evaluator}{marks}, {self.measure} on {plural(self.n, 'shared case')}."]
        if tests > 1:
            sentences.append(f"Places come from {tests} paired tests, p-values adjusted over all of them (Holm).")
        if self.left_out:
            sentences.append(f"{plural(self.left_out, 'case')} left out: not in all runs, edited, or without a score.")
        return sentences

    def rows(self) -> list[tuple[str, ...]]:
        """One row a run, as text."""
        return [
            (
                str(each.place), each.name, estimate_cell(each.estimate, percent=self.measure == RATE),
                ", ".join(each.tied_with) or "–", number(each.no_score, 0),
            )
            for each in self.standings
        ]  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of `rows()`' columns."""
        return tuple(name.format(measure=self.measure) for name in COLUMNS)

    def table(self) -> pd.DataFrame:
        """One row a run, as text."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(self.columns)).set_index("place")

    def summary(self) -> dict[str, object]:
        """The leaderboard as plain values, ready for JSON."""
        return {
            "evaluator": self.evaluator,
            "measure": self.measure,
            "n": self.n,
            "left_out": self.left_out,
            "standings": [
                {
                    "place": each.place,
                    "name": each.name,
                    "estimate": each.estimate.summary(),
                    "tied_with": list(each.tied_with),
                    "no_score": each.no_score,
                }
                for each in self.standings
            ],
        }

    def __str__(self) -> str:
        lines = [f"{place}. {name}: {found}" for place, name, found, *_ in self.rows()]
        return printable("\n".join([*self.sentences(), *lines]))

    def _repr_html_(self) -> str:
        from .page import page, table

        return page("Leaderboard", self.sentences(), table(self.columns, self.rows()))


def leaderboard(runs: Mapping[str, Sequence[Outcome]], *, evaluator: str | None = None) -> Leaderboard:
    """The runs in order under one evaluator (the only shared one unless named); more is better.

    leaderboard({run.target.name: run.outcomes() for run in runs}, evaluator="trajectory")
    """
    gathered = {name: gather(outcomes) for name, outcomes in runs.items()}
    chosen = _evaluator(gathered, evaluator)
    results = {name: found[chosen] for name, found in gathered.items()}
    measure = RATE if all(each.has_bar for each in results.values()) else SCORE
    ids, known = _shared(list(results.values()))
    cases = {name: [each.cases[id] for id in ids] for name, each in results.items()}
    bounded = all(each.bounds is not None for each in results.values())
    apart = _apart(cases, measure)
    means = {name: sum(value_of(c, measure) for c in them) / len(them) if them else 0.0 for name, them in cases.items()}
    standings = [
        Standing(
            place=1 + sum((name, other) in apart and means[other] > means[name] for other in runs),
            name=name,
            estimate=_estimate(cases[name], measure, bounded=bounded),
            tied_with=tuple(other for other in runs if other != name and (name, other) not in apart),
            no_score=sum(case.failed for case in results[name].cases.values()),
        )
        for name in runs
    ]
    return Leaderboard(
        evaluator=chosen,
        measure=measure,
        standings=tuple(sorted(standings, key=lambda each: (each.place, -means[each.name]))),
        n=len(ids),
        left_out=known - len(ids),
        labels=tuple(dict.fromkeys(label for each in results.values() for label in each.labels)),
    )


def _evaluator(gathered: Mapping[str, Mapping[str, EvaluatorResults]], wanted: str | None) -> str:
    if not gathered:
        raise ValueError("a leaderboard needs runs")
    first, *others = gathered.values()
    shared = [name for name in first if all(name in other for other in others)]
    if wanted is None and len(shared) == 1:
        return shared[0]
    if wanted not in shared:
        raise ValueError(f"name an evaluator that all runs share: {', '.join(shared) or 'there is none'}")
    return wanted


def _shared(results: Sequence[EvaluatorResults]) -> tuple[list[str], int]:
    """Ids of the cases that say the same in all runs and have a score in each, and how many cases there are in all."""
    first, *others = (each.cases for each in results)
    ids = [
        id
        for id, case in first.items()
        if case.scored
        and all((o := other.get(id)) and o.scored and o.case_digest == case.case_digest for other in others)
    ]
    applicable = {id for each in results for id, case in each.cases.items() if case.is_applicable}
    return ids, len(applicable)


def _apart(cases: Mapping[str, Sequence[CaseResult]], measure: str) -> set[tuple[str, str]]:
    """The pairs of runs, both ways round, that a paired test tells apart."""
    pairs = list(combinations(cases, 2))
    values: list[float] = []
    for one, other in pairs:
        both = tuple(zip(cases[one], cases[other], strict=True))
        found = paired_test(Pairing(pairs=both, unpaired=Unpaired(), measure=measure)).p_value
        values.append(1.0 if found is None else found)
    told = [each for each, p in zip(pairs, holm(values), strict=True) if p < LEVEL]
    return {*told, *((other, one) for one, other in told)}


def _estimate(cases: Sequence[CaseResult], measure: str, *, bounded: bool) -> Estimate:
    if measure == RATE:
        return estimate_rate([case.passes for case in cases], [case.tries for case in cases])
    return estimate_mean([case.value for case in cases], bounds=(0.0, 1.0) if bounded else None)
