"""A run in estimates: per evaluator the mean, the pass rate, pass@k, pass^k, and what has no score and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.presentation.formats import number, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.rates import estimate_pass_all, estimate_pass_at, estimate_rate

from ..values.outcomes import Outcome
from .gathered import CaseResult, EvaluatorResults, gather
from .words import estimate_cell, interval_words, printable

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("evaluator", "cases", "mean [95 %]", "passed [95 %]", "pass@k", "pass^k", "no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSummary:
    """What one evaluator says of a run.

    `mean` is over cases, each counted once with the mean of its repeats. `pass_rate` is missing when the evaluator sets
    no bar. `pass_at` and `pass_all` (pass^k) are keyed by k and empty without repeats. `cases` counts those that it
    could judge; the counts after it are of case × repeat. A failure to answer or to judge is in none of the numbers.
    """

    evaluator: str
    level: str
    mean: Estimate
    pass_rate: Estimate
    pass_at: Mapping[int, Estimate]
    pass_all: Mapping[int, Estimate]
    cases: int
    repeats: int
    scored: int
    not_applicable: int
    answer_failed: int
    judge_failed: int
    labels: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        """How many case × repeat should have a score and have none."""
        return self.answer_failed + self.judge_failed

    @property
    def failed_share(self) -> float:
        """The share of what should have a score that has none."""
        due = self.scored + self.failed
        return self.failed / due if due else 0.0

    @property
    def has_bar(self) -> bool:
        """True when its scores pass or fail."""
        return self.pass_rate.is_known

    def sentence(self) -> str:
        """The evaluator's result in a sentence."""
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        if self.has_bar:
            found = f"{interval_words(self.pass_rate, percent=True)} of {plural(self.cases, 'case')} pass"
        elif self.mean.is_known:
            found = f"mean {interval_words(self.mean)} over {plural(self.cases, 'case')}"
        else:
            found = f"no number from {plural(self.cases, 'case')} ({self.mean.reason})"
        without = no_score_words(self)
        return f"{self.evaluator}{marks}: {found}{'; ' + without if without else ''}."

    def summary(self) -> dict[str, object]:
        """The same as plain values, ready for JSON."""
        return {
            "evaluator": self.evaluator,
            "level": self.level,
            "mean": self.mean.summary(),
            "pass_rate": self.pass_rate.summary(),
            "pass_at": {str(k): each.summary() for k, each in self.pass_at.items()},
            "pass_all": {str(k): each.summary() for k, each in self.pass_all.items()},
            **{name: getattr(self, name) for name in _COUNTS},
            "labels": list(self.labels),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> EvaluatorSummary:
        """The summary that `summary()` wrote down."""
        return cls(
            evaluator=stored["evaluator"],
            level=stored["level"],
            mean=Estimate.read(stored["mean"]),
            pass_rate=Estimate.read(stored["pass_rate"]),
            pass_at={int(k): Estimate.read(each) for k, each in stored["pass_at"].items()},
            pass_all={int(k): Estimate.read(each) for k, each in stored["pass_all"].items()},
            **{name: int(stored[name]) for name in _COUNTS},
            labels=tuple(stored["labels"]),
        )


_COUNTS = ("cases", "repeats", "scored", "not_applicable", "answer_failed", "judge_failed")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in estimates, one row an evaluator.

    >>> summarize(run.outcomes())["trajectory"].pass_rate
    """

    evaluators: tuple[EvaluatorSummary, ...]
    cases: int
    repeats: int
    title: str = field(default="", compare=False)

    def __getitem__(self, evaluator: str) -> EvaluatorSummary:
        for each in self.evaluators:
            if each.evaluator == evaluator:
                return each
        raise KeyError(evaluator)

    def sentences(self) -> list[str]:
        """One sentence an evaluator."""
        return [each.sentence() for each in self.evaluators] or ["Nothing was judged."]

    def rows(self) -> list[tuple[str, ...]]:
        """The summary as text, one row an evaluator in the order of `COLUMNS`."""
        return [_row(each) for each in self.evaluators]

    def table(self) -> pd.DataFrame:
        """The summary as a DataFrame of text, for reading; `frame()` has the same as numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("evaluator")

    def frame(self) -> pd.DataFrame:
        """The summary as a DataFrame of numbers, one row an evaluator; what is not known is missing."""
        import pandas as pd

        names = ("evaluator", "level", *_COUNTS, "mean", "mean_low", "mean_high", "pass_rate", "pass_rate_low",
                 "pass_rate_high")  # fmt: skip
        rows = [
            (each.evaluator, each.level, *(getattr(each, name) for name in _COUNTS), each.mean.value, each.mean.low,
             each.mean.high, each.pass_rate.value, each.pass_rate.low, each.pass_rate.high)
            for each in self.evaluators
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=list(names)).set_index("evaluator")
        return table.astype(dict.fromkeys(names[-6:], "float64"))

    def summary(self) -> dict[str, object]:
        """The same as plain values, ready for JSON; `Summary.read` takes it back."""
        return {
            "cases": self.cases,
            "repeats": self.repeats,
            "evaluators": [each.summary() for each in self.evaluators],
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any], *, title: str = "") -> Summary:
        """The summary that `summary()` wrote down."""
        return cls(
            evaluators=tuple(EvaluatorSummary.read(each) for each in stored["evaluators"]),
            cases=int(stored["cases"]),
            repeats=int(stored["repeats"]),
            title=title,
        )

    def __str__(self) -> str:
        return printable("\n".join([self.title, *self.sentences()] if self.title else self.sentences()))

    def _repr_html_(self) -> str:
        from .page import page, table

        return page(self.title, self.sentences(), table(COLUMNS, self.rows()))


def summarize(outcomes: Sequence[Outcome], *, ks: Sequence[int] | None = None, title: str = "") -> Summary:
    """Each evaluator's estimates. `ks` are the k of pass@k and pass^k; 2 and the number of repeats when None."""
    return summarize_gathered(gather(outcomes), ks=ks, title=title)


def summarize_gathered(
    gathered: Mapping[str, EvaluatorResults], *, ks: Sequence[int] | None = None, title: str = ""
) -> Summary:
    """The same of outcomes that are gathered already."""
    cases: set[str] = set()
    for results in gathered.values():
        cases.update(results.cases)
    summaries = tuple(summarize_cases(results, list(results.cases.values()), ks=ks) for results in gathered.values())
    return Summary(
        evaluators=summaries,
        cases=len(cases),
        repeats=max((each.repeats for each in summaries), default=0),
        title=title,
    )


def summarize_cases(
    results: EvaluatorResults, cases: Sequence[CaseResult], *, ks: Sequence[int] | None = None
) -> EvaluatorSummary:
    """One evaluator's estimates over some of its cases."""
    scored = [case for case in cases if case.scored]
    passes, tries, repeats = [case.passes for case in scored], [case.tries for case in scored], 0
    counts, applicable = [0, 0, 0, 0], 0
    for case in cases:
        its = (case.scored, case.not_applicable, case.answer_failed, case.judge_failed)
        applicable += its[1] < sum(its)
        repeats = max(repeats, sum(its))
        counts = [total + one for total, one in zip(counts, its, strict=True)]
    if ks is None:
        ks = sorted({k for k in (2, repeats) if 2 <= k <= repeats})
    has_bar = bool(scored) and tries == [case.scored for case in scored]
    return EvaluatorSummary(
        evaluator=results.evaluator,
        level=results.level,
        mean=_mean(results, scored),
        pass_rate=estimate_rate(passes, tries) if has_bar else _without_bar(len(scored)),
        pass_at={k: estimate_pass_at(passes, tries, k) for k in ks} if has_bar else {},
        pass_all={k: estimate_pass_all(passes, tries, k) for k in ks} if has_bar else {},
        cases=applicable,
        repeats=repeats,
        scored=counts[0],
        not_applicable=counts[1],
        answer_failed=counts[2],
        judge_failed=counts[3],
        labels=tuple(results.labels),
    )


def no_score_words(each: EvaluatorSummary) -> str:
    """Why some have no score: `3 not answered, 1 not judged, 12 not applicable`; "" when all have one."""
    counted = (
        (each.answer_failed, "not answered"),
        (each.judge_failed, "not judged"),
        (each.not_applicable, "not applicable"),
    )
    return ", ".join(f"{number(count, 0)} {why}" for count, why in counted if count)


def _mean(results: EvaluatorResults, scored: Sequence[CaseResult]) -> Estimate:
    if not results.is_graded:
        # Ones and zeros are passes and failures whatever they are called; the same number gets the same interval.
        return estimate_rate([round(case.total) for case in scored], [case.scored for case in scored])
    return estimate_mean([case.value for case in scored], bounds=results.bounds)


def _without_bar(n: int) -> Estimate:
    reason = "no bar to pass" if n else "nothing scored"
    return Estimate.missing(reason, n=n, confidence=0.95, method="")


def _row(each: EvaluatorSummary) -> tuple[str, ...]:
    name = f"{each.evaluator} ({', '.join(each.labels)})" if each.labels else each.evaluator
    return (
        name,
        number(each.cases, 0),
        estimate_cell(each.mean),
        estimate_cell(each.pass_rate, percent=True),
        _by_k(each.pass_at),
        _by_k(each.pass_all),
        no_score_words(each) or "–",
    )


def _by_k(estimates: Mapping[int, Estimate]) -> str:
    return "; ".join(f"k={k}: {estimate_cell(each, percent=True)}" for k, each in estimates.items()) or "–"
