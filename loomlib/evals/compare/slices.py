"""Runs by tag: how each kind of case did, with the warning that many looks find something by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from loomlib.presentation.formats import number, plural
from loomlib.statistics.multiplicity import benjamini_hochberg

from ..values.outcomes import Outcome
from .gathered import EvaluatorResults, gather
from .pairing import Pairing, Unpaired, pair
from .summaries import EvaluatorSummary, no_score_words, summarize_cases
from .verdicts import LEVEL, NO_DIFFERENCE, TOO_FEW, EvaluatorComparison, compare_pairs
from .words import estimate_cell, p_text, printable

if TYPE_CHECKING:
    import pandas as pd

_Each = TypeVar("_Each")

UNTAGGED = "(no tag)"
COLUMNS = ("tag", "evaluator", "cases", "mean [95 %]", "passed [95 %]", "no score")
COMPARED_COLUMNS = ("tag", "evaluator", "verdict", "cases", "difference [95 %]", "p (BH)", "won", "lost")


@dataclass(frozen=True, kw_only=True)
class Slices:
    """A run's estimates by tag; a case with two tags is in both slices."""

    slices: tuple[tuple[str, EvaluatorSummary], ...]

    def sentences(self) -> list[str]:
        """What to keep in mind when reading so many intervals at once."""
        if not self.slices:
            return ["Nothing was judged."]
        return [_warning(len(self.slices), "intervals miss the truth")]

    def rows(self) -> list[tuple[str, ...]]:
        """One row a tag and evaluator in the order of `COLUMNS`, as text."""
        return [
            (
                tag, each.evaluator, number(each.cases, 0), estimate_cell(each.mean),
                estimate_cell(each.pass_rate, percent=True), no_score_words(each) or "–",
            )
            for tag, each in self.slices
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """One row a tag and evaluator, as text."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index(["tag", "evaluator"])

    def summary(self) -> list[dict[str, object]]:
        """The slices as plain values, ready for JSON."""
        return [{"tag": tag, **each.summary()} for tag, each in self.slices]

    def __str__(self) -> str:
        return printable("\n".join([*(f"{tag} – {each.sentence()}" for tag, each in self.slices), *self.sentences()]))

    def _repr_html_(self) -> str:
        from .page import page, table

        return page("By tag", self.sentences(), table(COLUMNS, self.rows()))


@dataclass(frozen=True, kw_only=True)
class ComparedSlices:
    """Two runs compared by tag. p-values are adjusted over all slices (Benjamini & Hochberg): of those that are called
    better or worse, one in twenty is chance on average."""

    slices: tuple[tuple[str, EvaluatorComparison], ...]

    def sentences(self) -> list[str]:
        """The slices that differ first, then how many looks that took."""
        told = [each for each in self.slices if each[1].verdict not in (NO_DIFFERENCE, TOO_FEW)]
        found = [f"{tag} – {each.sentence()}" for tag, each in told]
        tested = sum(each.p_adjusted is not None for _, each in self.slices)
        if not tested:
            return ["No slice has enough cases to be compared."]
        return [
            *(found or ["No slice differs beyond what chance explains."]),
            _warning(tested, "slices would look different by chance")
            + " p-values here are adjusted for that (Benjamini–Hochberg).",
        ]

    def rows(self) -> list[tuple[str, ...]]:
        """One row a tag and evaluator in the order of `COMPARED_COLUMNS`, as text."""
        return [
            (
                tag, each.evaluator, each.verdict, number(each.n, 0), each.change, p_text(each.p_adjusted),
                number(each.won, 0), number(each.lost, 0),
            )
            for tag, each in self.slices
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """One row a tag and evaluator, as text."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COMPARED_COLUMNS)).set_index(["tag", "evaluator"])

    def summary(self) -> list[dict[str, object]]:
        """The slices as plain values, ready for JSON."""
        return [{"tag": tag, **each.summary()} for tag, each in self.slices]

    def __str__(self) -> str:
        return printable("\n".join(self.sentences()))

    def _repr_html_(self) -> str:
        from .page import page, table

        return page("Differences by tag", self.sentences(), table(COMPARED_COLUMNS, self.rows()))


def slices(outcomes: Sequence[Outcome], *, tags: Sequence[str] | None = None) -> Slices:
    """Each tag's estimates under each evaluator; `tags` chooses some of them, in that order.

    slices(run.outcomes(), tags=("refusal", "multi_turn"))
    """
    found: list[tuple[str, EvaluatorSummary]] = []
    for results in gather(outcomes).values():
        for tag in _tags_of(results) if tags is None else tags:
            chosen = [case for case in results.cases.values() if tag in (case.tags or (UNTAGGED,))]
            if chosen:
                found.append((tag, summarize_cases(results, chosen)))
    return Slices(slices=tuple(_by_tag(found, tags)))


def compare_slices(
    a: Sequence[Outcome], b: Sequence[Outcome], *, tags: Sequence[str] | None = None, seed: int = 0
) -> ComparedSlices:
    """The new run `a` against the baseline `b` by tag (the new run's), paired by case as `compare` does."""
    new, baseline = gather(a), gather(b)
    found: list[tuple[str, EvaluatorComparison]] = []
    for name in new:
        if name not in baseline:
            continue
        whole = pair(new[name], baseline[name])
        bounds = new[name].bounds if new[name].bounds == baseline[name].bounds else None
        for tag in _tags_of(new[name]) if tags is None else tags:
            pairs = tuple(each for each in whole.pairs if tag in (each[0].tags or (UNTAGGED,)))
            if pairs:
                sliced = Pairing(pairs=pairs, unpaired=Unpaired(), measure=whole.measure)
                found.append((tag, compare_pairs(sliced, new[name], baseline[name], bounds=bounds, seed=seed)))
    tested = [(place, each.test.p_value) for place, (_, each) in enumerate(found) if each.test.p_value is not None]
    values = dict(zip((place for place, _ in tested), benjamini_hochberg([p for _, p in tested]), strict=True))
    adjusted = [(tag, replace(each, p_adjusted=values.get(place))) for place, (tag, each) in enumerate(found)]
    return ComparedSlices(slices=tuple(_by_tag(adjusted, tags)))


def _tags_of(results: EvaluatorResults) -> list[str]:
    return list(dict.fromkeys(tag for case in results.cases.values() for tag in (case.tags or (UNTAGGED,))))


def _by_tag(found: list[tuple[str, _Each]], tags: Sequence[str] | None) -> list[tuple[str, _Each]]:
    """Tags in the order asked for, else by name with the untagged last; a tag's evaluators stay together."""
    if tags is not None:
        places = {tag: place for place, tag in enumerate(tags)}
        return sorted(found, key=lambda each: places[each[0]])
    return sorted(found, key=lambda each: (each[0] == UNTAGGED, each[0]))


def _warning(looks: int, what: str) -> str:
    return f"{plural(looks, 'look')} at once: about {number(looks * LEVEL, 1)} {what}."
