"""Summarize a run: by evaluator the mean, the pass rate, pass@k, pass^k, and the attempts without a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.deprecation import warn_renamed
from loomlib.experiments import StudyConditions
from loomlib.presentation.formats import number, plural
from loomlib.presentation.text import printable
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.means import estimate_mean
from loomlib.statistics.rates import estimate_pass_all, estimate_pass_at, estimate_rate

from ..values.outcomes import Outcome
from .estimate_text import estimate_cell, interval_text
from .gathered import CaseScores, EvaluatorResults, gather
from .page import page, table

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("evaluator", "cases", "mean [95 %]", "passed [95 %]", "pass@k", "pass^k", "no score")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSummary:
    """A run's results by one evaluator.

    Cases that failed to run or to be scored are excluded from all averages and counted separately.

    Attributes:
        evaluator: The evaluator.
        level: What it judges.
        mean: Mean over cases, each counted once with the mean of its repeats.
        pass_rate: Share of attempts that passed; missing for an evaluator without a threshold.
        pass_at: pass@k by k; empty without repeats.
        pass_all: pass^k by k; empty without repeats.
        cases: Cases to which the evaluator applies.
        repeats: Largest number of repeats of a case.
        scored: Attempts (case × repeat) with a score.
        not_applicable: Attempts to which the evaluator does not apply.
        answer_failed: Attempts without an answer.
        judge_failed: Attempts that could not be judged.
        labels: Provenance labels.
        best: Largest score of a case; with a threshold 1 when any attempt passed, else 0. None without a score, and for
            runs stored by release 0.1.
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
    best: float | None = None

    @property
    def failed(self) -> int:
        """Number of attempts that should have a score but have none."""
        return self.answer_failed + self.judge_failed

    @property
    def failed_share(self) -> float:
        """Share of the attempts that should have a score but have none."""
        due = self.scored + self.failed
        return self.failed / due if due else 0.0

    @property
    def has_threshold(self) -> bool:
        """Whether its scores pass or fail."""
        return self.pass_rate.is_known

    @property
    def has_bar(self) -> bool:
        """`has_threshold`, by its former name."""
        warn_renamed("EvaluatorSummary.has_bar", "EvaluatorSummary.has_threshold")
        return self.has_threshold

    def sentence(self) -> str:
        """Summarize the evaluator's results in one sentence."""
        marks = f" ({', '.join(self.labels)})" if self.labels else ""
        if self.has_threshold:
            result = f"{interval_text(self.pass_rate, percent=True)} of {plural(self.cases, 'case')} pass"
        elif self.mean.is_known:
            result = f"mean {interval_text(self.mean)} over {plural(self.cases, 'case')}"
        else:
            result = f"no result from {plural(self.cases, 'case')} ({self.mean.reason})"
        without = no_score_text(self)
        return f"{self.evaluator}{marks}: {result}{'; ' + without if without else ''}."

    def summary(self) -> dict[str, object]:
        """Return the results as JSON values."""
        return {
            "evaluator": self.evaluator,
            "level": self.level,
            "mean": self.mean.summary(),
            "pass_rate": self.pass_rate.summary(),
            "pass_at": {str(k): estimate.summary() for k, estimate in self.pass_at.items()},
            "pass_all": {str(k): estimate.summary() for k, estimate in self.pass_all.items()},
            **{name: getattr(self, name) for name in _COUNTS},
            "labels": list(self.labels),
            "best": self.best,
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> EvaluatorSummary:
        """Read what `summary()` wrote."""
        return cls(
            evaluator=stored["evaluator"],
            level=stored["level"],
            mean=Estimate.read(stored["mean"]),
            pass_rate=Estimate.read(stored["pass_rate"]),
            pass_at={int(k): Estimate.read(estimate) for k, estimate in stored["pass_at"].items()},
            pass_all={int(k): Estimate.read(estimate) for k, estimate in stored["pass_all"].items()},
            **{name: int(stored[name]) for name in _COUNTS},
            labels=tuple(stored["labels"]),
            best=stored.get("best"),
        )


_COUNTS = ("cases", "repeats", "scored", "not_applicable", "answer_failed", "judge_failed")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run's results, by evaluator.

    Examples:
        >>> summarize(run.outcomes())["trajectory"].pass_rate

    Attributes:
        evaluators: Each evaluator's results.
        cases: Number of cases.
        repeats: Largest number of repeats of a case.
        title: A title for display.
        conditions: The machine's load while the cases were run.
        timed: Evaluators that judge durations.
    """

    evaluators: tuple[EvaluatorSummary, ...]
    cases: int
    repeats: int
    title: str = field(default="", compare=False)
    conditions: StudyConditions = field(default=StudyConditions(), compare=False, repr=False)
    timed: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __getitem__(self, evaluator: str) -> EvaluatorSummary:
        for summary in self.evaluators:
            if summary.evaluator == evaluator:
                return summary
        raise KeyError(evaluator)

    def sentences(self) -> list[str]:
        """Return one sentence for each evaluator."""
        return [summary.sentence() for summary in self.evaluators] or ["No case was judged."]

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each evaluator, in the order of `COLUMNS`."""
        return [_row(summary) for summary in self.evaluators]

    def table(self) -> pd.DataFrame:
        """Return the summary as a DataFrame of text for reading; `frame()` has numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("evaluator")

    def frame(self) -> pd.DataFrame:
        """Return the summary as a DataFrame of numbers, one row for each evaluator; unknown values are missing."""
        import pandas as pd

        names = ("evaluator", "level", *_COUNTS, "mean", "mean_low", "mean_high", "pass_rate", "pass_rate_low",
                 "pass_rate_high")  # fmt: skip
        rows = [
            (summary.evaluator, summary.level, *(getattr(summary, name) for name in _COUNTS), summary.mean.value,
             summary.mean.low, summary.mean.high, summary.pass_rate.value, summary.pass_rate.low,
             summary.pass_rate.high)
            for summary in self.evaluators
        ]  # fmt: skip
        table = pd.DataFrame(rows, columns=list(names)).set_index("evaluator")
        return table.astype(dict.fromkeys(names[-6:], "float64"))

    def summary(self) -> dict[str, object]:
        """Return the summary as JSON values; `Summary.read` reads them."""
        return {
            "cases": self.cases,
            "repeats": self.repeats,
            "evaluators": [summary.summary() for summary in self.evaluators],
            "machine": self.conditions.summary(),
            "timed": list(self.timed),
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any], *, title: str = "") -> Summary:
        """Read what `summary()` wrote.

        Args:
            stored: The JSON values.
            title: A title for display.
        """
        return cls(
            evaluators=tuple(EvaluatorSummary.read(summary) for summary in stored["evaluators"]),
            cases=int(stored["cases"]),
            repeats=int(stored["repeats"]),
            title=title,
            conditions=StudyConditions.read(stored.get("machine")),
            timed=tuple(stored.get("timed", ())),
        )

    def __str__(self) -> str:
        return printable("\n".join([self.title, *self.sentences()] if self.title else self.sentences()))

    def _repr_html_(self) -> str:
        return page(self.title, self.sentences(), table(COLUMNS, self.rows()))


def summarize(outcomes: Sequence[Outcome], *, ks: Sequence[int] | None = None, title: str = "") -> Summary:
    """Summarize outcomes by evaluator.

    Args:
        outcomes: A run's outcomes.
        ks: The k of pass@k and pass^k; by default 2 and the number of repeats.
        title: A title for display.
    """
    return summarize_gathered(gather(outcomes), ks=ks, title=title)


def summarize_gathered(
    gathered: Mapping[str, EvaluatorResults], *, ks: Sequence[int] | None = None, title: str = ""
) -> Summary:
    """Summarize outcomes that are already grouped.

    Args:
        gathered: Results by evaluator.
        ks: The k of pass@k and pass^k; by default 2 and the number of repeats.
        title: A title for display.
    """
    cases: set[str] = set()
    for results in gathered.values():
        cases.update(results.cases)
    summaries = tuple(summarize_cases(results, list(results.cases.values()), ks=ks) for results in gathered.values())
    return Summary(
        evaluators=summaries,
        cases=len(cases),
        repeats=max((summary.repeats for summary in summaries), default=0),
        title=title,
    )


def summarize_cases(
    results: EvaluatorResults, cases: Sequence[CaseScores], *, ks: Sequence[int] | None = None
) -> EvaluatorSummary:
    """Summarize some of an evaluator's cases.

    Args:
        results: The evaluator's results.
        cases: The cases.
        ks: The k of pass@k and pass^k; by default 2 and the number of repeats.
    """
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
    has_threshold = bool(scored) and tries == [case.scored for case in scored]
    return EvaluatorSummary(
        evaluator=results.evaluator,
        level=results.level,
        mean=_mean(results, scored),
        pass_rate=estimate_rate(passes, tries) if has_threshold else _without_bar(len(scored)),
        pass_at={k: estimate_pass_at(passes, tries, k) for k in ks} if has_threshold else {},
        pass_all={k: estimate_pass_all(passes, tries, k) for k in ks} if has_threshold else {},
        cases=applicable,
        repeats=repeats,
        scored=counts[0],
        not_applicable=counts[1],
        answer_failed=counts[2],
        judge_failed=counts[3],
        labels=tuple(results.labels),
        best=_best(scored, passes, has_threshold=has_threshold),
    )


def _best(scored: Sequence[CaseScores], passes: Sequence[int], *, has_threshold: bool) -> float | None:
    """Return the best score of a case's attempts; with a threshold, 1 if any attempt passed, else 0."""
    if has_threshold:
        return float(any(passes))
    return max((case.value for case in scored), default=None)


def no_score_text(summary: EvaluatorSummary) -> str:
    """Describe attempts without a score, such as `3 not answered, 1 not judged, 12 not applicable`; "" without any."""
    counted = (
        (summary.answer_failed, "not answered"),
        (summary.judge_failed, "not judged"),
        (summary.not_applicable, "not applicable"),
    )
    return ", ".join(f"{number(count, 0)} {why}" for count, why in counted if count)


def _mean(results: EvaluatorResults, scored: Sequence[CaseScores]) -> Estimate:
    if not results.is_graded:
        # Scores of 0 and 1 are passes and failures: the same number gets the same interval.
        return estimate_rate([round(case.total) for case in scored], [case.scored for case in scored])
    return estimate_mean([case.value for case in scored], bounds=results.bounds)


def _without_bar(n: int) -> Estimate:
    reason = "no threshold" if n else "no scores"
    return Estimate.missing(reason, n=n, confidence=0.95, method="")


def _row(summary: EvaluatorSummary) -> tuple[str, ...]:
    name = f"{summary.evaluator} ({', '.join(summary.labels)})" if summary.labels else summary.evaluator
    return (
        name,
        number(summary.cases, 0),
        estimate_cell(summary.mean),
        estimate_cell(summary.pass_rate, percent=True),
        _by_k(summary.pass_at),
        _by_k(summary.pass_all),
        no_score_text(summary) or "–",
    )


def _by_k(estimates: Mapping[int, Estimate]) -> str:
    return "; ".join(f"k={k}: {estimate_cell(summary, percent=True)}" for k, summary in estimates.items()) or "–"
