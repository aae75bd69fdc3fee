"""Compare two runs on the same cases: which is better, on what evidence, and which cases changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from loomlib.dispatch import call
from loomlib.experiments import exit_code
from loomlib.presentation.formats import number, p_value, percent, plural, score
from loomlib.presentation.text import printable
from loomlib.statistics.multiplicity import holm

from ..values.outcomes import Outcome
from .gates import GateVerdict, gate_not_worse
from .gathered import gather
from .page import folded, heading, listed, page, quiet, table
from .pairing import LOST, SAME, WON, Flip
from .verdicts import BETTER, TOO_FEW, WORSE, EvaluatorComparison, compare_results

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from markupsafe import Markup

MARGIN = 0.02
COLUMNS = ("evaluator", "verdict", "cases", "baseline", "new", "difference [95 %]", "p (Holm)", "won", "lost", "effect")
_ORDER = {LOST: 0, WON: 1, SAME: 2}
FLIP_COLUMNS = ("case", "evaluator", "verdict", "baseline", "new", "tags")
_OPENED = 40
_PAGE_ROWS, _MOST_PAGES = 100, 10
"""Changed cases on a page: the first ones open to their evidence, others are rows in folded tables; `flip_frame()` has
all of them."""


class Evidence(Protocol):
    """Shows the evidence for a changed case: the answers of both runs."""

    @property
    def run_ids(self) -> tuple[str, str]:
        """Ids of the new run and the baseline."""
        ...

    def folds(self, flips: Sequence[Flip], names: tuple[str, str]) -> Markup:
        """Return HTML with a collapsible section for each changed case."""
        ...


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A new run compared with a baseline by each evaluator, on the cases with the same content in both.

    Attributes:
        evaluators: The comparison by each evaluator.
        margin: Largest accepted loss, in shares or scores.
        names: Names of the new run and the baseline.
        only_new: Evaluators that judged only the new run.
        only_baseline: Evaluators that judged only the baseline.
        evidence: Shows the answers behind changed cases, None without stored runs.

    Examples:
        >>> comparison = compare(run.outcomes(), baseline.outcomes(), seed=0)
        >>> comparison.sentences()[0], comparison["trajectory"].verdict, comparison.exit_code
    """

    evaluators: tuple[EvaluatorComparison, ...]
    margin: float
    names: tuple[str, str] = ("new", "baseline")
    only_new: tuple[str, ...] = ()
    only_baseline: tuple[str, ...] = ()
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    _by_name: Mapping[str, EvaluatorComparison] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {comparison.evaluator: comparison for comparison in self.evaluators})

    def __getitem__(self, evaluator: str) -> EvaluatorComparison:
        return self._by_name[evaluator]

    def gates(self, margin: float | None = None) -> tuple[GateVerdict, ...]:
        """Return one verdict for each evaluator: missed only if worse by more than the margin with 95 % confidence.

        Args:
            margin: Largest accepted loss, by default the comparison's.
        """
        allowed = self.margin if margin is None else margin
        return tuple(gate_not_worse(comparison, allowed) for comparison in self.evaluators)

    @property
    def exit_code(self) -> int:
        """2 when a gate is missed, else 0."""
        return exit_code(self.gates())

    def flips(self, verdict: str | None = None, *, evaluator: str | None = None) -> tuple[Flip, ...]:
        """Return the cases by how they changed.

        Args:
            verdict: "won", "lost" or "same"; None for won and lost.
            evaluator: Only by this evaluator.
        """
        verdicts = {WON, LOST} if verdict is None else {verdict}
        if not verdicts <= {WON, LOST, SAME}:
            raise ValueError(f"verdict must be {WON!r}, {LOST!r} or {SAME!r}, not {verdict!r}")
        chosen = self.evaluators if evaluator is None else (self[evaluator],)
        return tuple(flip for comparison in chosen for flip in comparison.flips if flip.verdict in verdicts)

    def sentences(self) -> list[str]:
        """Return the headline, then each evaluator's evidence, then the notes."""
        return [self.headline(), *(comparison.sentence() for comparison in self.evaluators), *self.notes()]

    def headline(self) -> str:
        """Summarize the comparison in one sentence."""
        new, baseline = self.names
        judged = [comparison for comparison in self.evaluators if comparison.verdict != TOO_FEW]
        if not judged:
            return f"{new} and {baseline} have too few cases in common for a comparison."
        worse = [comparison for comparison in judged if comparison.verdict == WORSE]
        better = [comparison for comparison in judged if comparison.verdict == BETTER]
        parts = [
            f"{word} on {_list(comparisons)}"
            for word, comparisons in (("worse", worse), ("better", better))
            if comparisons
        ]
        if parts:
            return f"Against {baseline}, {new} is {' and '.join(parts)}."
        return (
            f"No difference found between {new} and {baseline} on {_list(judged)}. This does not prove that there is "
            f"none; the intervals show how large it could be."
        )

    def notes(self) -> list[str]:
        """Return what was left out of the comparison and why, and what to consider when reading it."""
        notes: list[str] = []
        left_out: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for comparison in self.evaluators:
            for reason, ids in comparison.unpaired.counted():
                left_out.setdefault((reason, ids), []).append(comparison.evaluator)
        for (reason, ids), evaluators in left_out.items():
            by = "" if len(evaluators) == len(self.evaluators) else f" by {', '.join(evaluators)}"
            notes.append(f"Not compared{by}: {plural(len(ids), 'case')} {reason} ({_ids(ids)}).")
        for run_name, names in ((self.names[0], self.only_new), (self.names[1], self.only_baseline)):
            if names:
                notes.append(f"Judged in {run_name} only: {', '.join(names)}.")
        tests = sum(comparison.p_adjusted is not None for comparison in self.evaluators)
        if tests > 1:
            notes.append(f"p-values are adjusted over {tests} evaluators (Holm).")
        return notes

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row of text for each evaluator, in the order of `COLUMNS`."""
        return [_row(comparison) for comparison in self.evaluators]

    def flip_rows(self, verdict: str | None = None) -> list[tuple[str, ...]]:
        """Return one row of text for each changed case, in the order of `FLIP_COLUMNS`, lost cases first.

        Args:
            verdict: Only these cases; see `flips`.
        """
        flips = sorted(self.flips(verdict), key=lambda flip: _ORDER[flip.verdict])
        return [_flip_row(flip, is_rate=self[flip.evaluator].is_rate) for flip in flips]

    def table(self) -> pd.DataFrame:
        """Return one row for each evaluator as text for reading; `frame()` has numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("evaluator")

    def frame(self) -> pd.DataFrame:
        """Return one row for each evaluator as numbers; differences are new minus baseline in shares or scores."""
        import pandas as pd

        rows = [
            {
                "evaluator": comparison.evaluator, "measure": comparison.measure, "verdict": comparison.verdict,
                "n": comparison.n,
                "baseline": comparison.baseline.value, "value": comparison.value.value,
                "difference": comparison.difference.value,
                "difference_low": comparison.difference.low, "difference_high": comparison.difference.high,
                "p_value": comparison.test.p_value, "p_adjusted": comparison.p_adjusted, "effect": comparison.effect,
                "won": comparison.won, "lost": comparison.lost, "same": comparison.same,
            }
            for comparison in self.evaluators
        ]  # fmt: skip
        numeric = ("baseline", "value", "difference", "difference_low", "difference_high", "p_value", "p_adjusted",
                   "effect")  # fmt: skip
        names = ["evaluator", "measure", "verdict", "n", *numeric, "won", "lost", "same"]
        return pd.DataFrame(rows, columns=names).set_index("evaluator").astype(dict.fromkeys(numeric, "float64"))

    def flip_frame(self) -> pd.DataFrame:
        """Return one row for each compared case and evaluator, with both numbers and the traces of both runs."""
        import pandas as pd

        names = ("case_id", "evaluator", "verdict", "baseline", "value", "difference", "tags", "trace_ids",
                 "baseline_trace_ids")  # fmt: skip
        flips = [flip for comparison in self.evaluators for flip in comparison.flips]
        return pd.DataFrame([[getattr(flip, name) for name in names] for flip in flips], columns=list(names))

    def summary(self) -> dict[str, object]:
        """Return the comparison as JSON values."""
        return {
            "headline": self.headline(),
            "names": list(self.names),
            "run_ids": list(self.evidence.run_ids) if self.evidence else None,
            "margin": self.margin,
            "evaluators": [comparison.summary() for comparison in self.evaluators],
            "gates": [gate.summary() for gate in self.gates()],
            "notes": self.notes(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        return printable("\n".join(self.sentences()))

    def figures(self) -> dict[str, go.Figure]:
        """Return the charts by name: `differences` with their intervals, and `flips` (cases won and lost)."""
        return call("Comparison.figures", self)

    def _repr_html_(self) -> str:
        return page(
            f"{self.names[0]} against {self.names[1]}",
            [self.headline(), *(gate.sentence() for gate in self.gates())],
            table(COLUMNS, self.rows()),
            *self._flip_pages(),
            folded("Evidence by evaluator", listed([comparison.sentence() for comparison in self.evaluators])),
            folded("Notes", listed(self.notes())),
        )

    def _flip_pages(self) -> list[Markup | str]:
        flips = sorted(self.flips(), key=lambda flip: _ORDER[flip.verdict])
        if not flips:
            return [quiet("No case changed.")]
        opened = _OPENED if self.evidence else 0
        parts: list[Markup | str] = [heading(f"Changed cases: {number(len(flips), 0)}")]
        if self.evidence:
            parts.append(self.evidence.folds(flips[:opened], self.names))
        rows = [_flip_row(flip, is_rate=self[flip.evaluator].is_rate) for flip in flips[opened:]]
        for start in range(0, min(len(rows), _PAGE_ROWS * _MOST_PAGES), _PAGE_ROWS):
            page_rows = rows[start : start + _PAGE_ROWS]
            first = opened + start + 1
            label = f"{number(first, 0)} to {number(first + len(page_rows) - 1, 0)} of {number(len(flips), 0)}"
            parts.append(folded(label, table(FLIP_COLUMNS, page_rows), is_open=not opened and start == 0))
        if (more := len(rows) - _PAGE_ROWS * _MOST_PAGES) > 0:
            parts.append(quiet(f"… {number(more, 0)} more; all of them are in .flip_frame()"))
        return parts


def compare(
    a: Sequence[Outcome],
    b: Sequence[Outcome],
    *,
    margin: float = MARGIN,
    seed: int = 0,
    names: tuple[str, str] = ("new", "baseline"),
) -> Comparison:
    """Compare a new run with a baseline, paired by case.

        compare(new.outcomes(), old.outcomes())            # what new.compare(old) does

    Only cases with the same id and the same content are compared.

    Args:
        a: Outcomes of the new run.
        b: Outcomes of the baseline.
        margin: Largest accepted loss, in shares or scores (0.02 is two points).
        seed: Seed of the bootstrap.
        names: Names of the new run and the baseline.
    """
    if margin < 0:
        raise ValueError(f"margin must be at least 0, not {margin}")
    new, baseline = gather(a), gather(b)
    shared = [name for name in new if name in baseline]
    comparisons = [compare_results(new[name], baseline[name], seed=seed) for name in shared]
    return Comparison(
        evaluators=adjusted(comparisons),
        margin=margin,
        names=names,
        only_new=tuple(name for name in new if name not in baseline),
        only_baseline=tuple(name for name in baseline if name not in new),
    )


def adjusted(comparisons: Sequence[EvaluatorComparison]) -> tuple[EvaluatorComparison, ...]:
    """Return comparisons with p-values adjusted by Holm's method over all that have one."""
    tested = [
        (index, comparison.test.p_value)
        for index, comparison in enumerate(comparisons)
        if comparison.test.p_value is not None
    ]
    values = dict(zip((index for index, _ in tested), holm([p for _, p in tested]), strict=True))
    return tuple(replace(comparison, p_adjusted=values.get(index)) for index, comparison in enumerate(comparisons))


def _row(comparison: EvaluatorComparison) -> tuple[str, ...]:
    name = f"{comparison.evaluator} ({', '.join(comparison.labels)})" if comparison.labels else comparison.evaluator
    return (
        name, comparison.verdict, number(comparison.n, 0), _number(comparison.baseline.value, comparison.is_rate),
        _number(comparison.value.value, comparison.is_rate), comparison.change, p_value(comparison.p_adjusted),
        number(comparison.won, 0),
        number(comparison.lost, 0), "–" if comparison.effect is None else number(comparison.effect, 2),
    )  # fmt: skip


def _flip_row(flip: Flip, *, is_rate: bool) -> tuple[str, ...]:
    return (
        flip.case_id, flip.evaluator, flip.verdict, _number(flip.baseline, is_rate), _number(flip.value, is_rate),
        ", ".join(flip.tags),
    )  # fmt: skip


def _number(value: float | None, is_rate: bool) -> str:
    if value is None:
        return "–"
    return percent(value) if is_rate else score(value)


def _list(comparisons: Sequence[EvaluatorComparison]) -> str:
    return ", ".join(comparison.evaluator for comparison in comparisons)


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
