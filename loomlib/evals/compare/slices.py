"""Results by tag, with a note on how many findings to expect by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from loomlib.presentation.formats import number, p_value, plural
from loomlib.presentation.text import printable
from loomlib.statistics.multiplicity import benjamini_hochberg

from ..values.outcomes import Outcome
from .estimate_text import estimate_cell
from .gathered import EvaluatorResults, gather
from .page import page, table
from .pairing import Pairing, Unpaired, pair
from .summaries import EvaluatorSummary, no_score_text, summarize_cases
from .verdicts import LEVEL, NO_DIFFERENCE, TOO_FEW, EvaluatorComparison, compare_pairs

if TYPE_CHECKING:
    import pandas as pd

_Slice = TypeVar("_Slice")

UNTAGGED = "(no tag)"
COLUMNS = ("tag", "evaluator", "cases", "mean [95 %]", "passed [95 %]", "no score")
COMPARED_COLUMNS = ("tag", "evaluator", "verdict", "cases", "difference [95 %]", "p (BH)", "won", "lost")


@dataclass(frozen=True, kw_only=True)
class Slices:
    """A run's estimates by tag; a case with two tags is in both slices."""

    slices: tuple[tuple[str, EvaluatorSummary], ...]

    def sentences(self) -> list[str]:
        """Return a note on reading many intervals at once."""
        if not self.slices:
            return ["No case was judged."]
        expected = number(len(self.slices) * LEVEL, 1)
        count = plural(len(self.slices), "interval")
        return [f"{count} at 95 % confidence: about {expected} of them can be expected to miss the true value."]

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each tag and evaluator, in the order of `COLUMNS`."""
        return [
            (
                tag, summary.evaluator, number(summary.cases, 0), estimate_cell(summary.mean),
                estimate_cell(summary.pass_rate, percent=True), no_score_text(summary) or "–",
            )
            for tag, summary in self.slices
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """Return one row of text for each tag and evaluator as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index(["tag", "evaluator"])

    def summary(self) -> list[dict[str, object]]:
        """Return the slices as JSON values."""
        return [{"tag": tag, **summary.summary()} for tag, summary in self.slices]

    def __str__(self) -> str:
        return printable(
            "\n".join([*(f"{tag} – {summary.sentence()}" for tag, summary in self.slices), *self.sentences()])
        )

    def _repr_html_(self) -> str:
        return page("By tag", self.sentences(), table(COLUMNS, self.rows()))


@dataclass(frozen=True, kw_only=True)
class ComparedSlices:
    """Two runs compared by tag.

    p-values are adjusted over all slices (Benjamini–Hochberg): of the slices reported as better or worse, one in twenty
    is expected to be a false finding.
    """

    slices: tuple[tuple[str, EvaluatorComparison], ...]

    def sentences(self) -> list[str]:
        """Describe the slices with a significant difference, and the number of tests."""
        findings = [
            f"{tag} – {comparison.sentence()}"
            for tag, comparison in self.slices
            if comparison.verdict not in (NO_DIFFERENCE, TOO_FEW)
        ]
        tests = sum(comparison.p_adjusted is not None for _, comparison in self.slices)
        if not tests:
            return ["No slice has enough cases for a comparison."]
        return [
            *(findings or ["No slice has a significant difference."]),
            f"{plural(tests, 'slice')} tested; p-values are adjusted for that (Benjamini–Hochberg).",
        ]

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each tag and evaluator, in the order of `COMPARED_COLUMNS`."""
        return [
            (
                tag, comparison.evaluator, comparison.verdict, number(comparison.n, 0), comparison.change,
                p_value(comparison.p_adjusted),
                number(comparison.won, 0), number(comparison.lost, 0),
            )
            for tag, comparison in self.slices
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """Return one row of text for each tag and evaluator as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COMPARED_COLUMNS)).set_index(["tag", "evaluator"])

    def summary(self) -> list[dict[str, object]]:
        """Return the slices as JSON values."""
        return [{"tag": tag, **comparison.summary()} for tag, comparison in self.slices]

    def __str__(self) -> str:
        return printable("\n".join(self.sentences()))

    def _repr_html_(self) -> str:
        return page("Differences by tag", self.sentences(), table(COMPARED_COLUMNS, self.rows()))


def slices(outcomes: Sequence[Outcome], *, tags: Sequence[str] | None = None) -> Slices:
    """Return each tag's estimates under each evaluator.

        slices(run.outcomes(), tags=("refusal", "multi_turn"))

    Args:
        outcomes: A run's outcomes.
        tags: Only these tags, in this order; by default all.
    """
    summaries: list[tuple[str, EvaluatorSummary]] = []
    for results in gather(outcomes).values():
        for tag in _tags_of(results) if tags is None else tags:
            chosen = [case for case in results.cases.values() if tag in (case.tags or (UNTAGGED,))]
            if chosen:
                summaries.append((tag, summarize_cases(results, chosen)))
    return Slices(slices=tuple(_by_tag(summaries, tags)))


def compare_slices(
    a: Sequence[Outcome], b: Sequence[Outcome], *, tags: Sequence[str] | None = None, seed: int = 0
) -> ComparedSlices:
    """Compare a new run with a baseline by tag, paired by case.

    Args:
        a: Outcomes of the new run, whose tags are used.
        b: Outcomes of the baseline.
        tags: Only these tags, in this order; by default all.
        seed: Seed of the bootstrap.
    """
    new, baseline = gather(a), gather(b)
    comparisons: list[tuple[str, EvaluatorComparison]] = []
    for name in new:
        if name not in baseline:
            continue
        whole = pair(new[name], baseline[name])
        bounds = new[name].bounds if new[name].bounds == baseline[name].bounds else None
        for tag in _tags_of(new[name]) if tags is None else tags:
            pairs = tuple(cases for cases in whole.pairs if tag in (cases[0].tags or (UNTAGGED,)))
            if pairs:
                sliced = Pairing(pairs=pairs, unpaired=Unpaired(), measure=whole.measure)
                comparisons.append((tag, compare_pairs(sliced, new[name], baseline[name], bounds=bounds, seed=seed)))
    p_values = [(index, item[1].test.p_value) for index, item in enumerate(comparisons)]
    tested = [(index, p) for index, p in p_values if p is not None]
    values = dict(zip((index for index, _ in tested), benjamini_hochberg([p for _, p in tested]), strict=True))
    adjusted = [
        (tag, replace(comparison, p_adjusted=values.get(index))) for index, (tag, comparison) in enumerate(comparisons)
    ]
    return ComparedSlices(slices=tuple(_by_tag(adjusted, tags)))


def _tags_of(results: EvaluatorResults) -> list[str]:
    return list(dict.fromkeys(tag for case in results.cases.values() for tag in (case.tags or (UNTAGGED,))))


def _by_tag(slices: list[tuple[str, _Slice]], tags: Sequence[str] | None) -> list[tuple[str, _Slice]]:
    """Sort by the requested order of tags, or else by name with the untagged last."""
    if tags is not None:
        places = {tag: place for place, tag in enumerate(tags)}
        return sorted(slices, key=lambda item: places[item[0]])
    return sorted(slices, key=lambda item: (item[0] == UNTAGGED, item[0]))
