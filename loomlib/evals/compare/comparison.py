"""Two runs on the same cases: which is better, on what evidence, and where they part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from loomlib.dispatch import call
from loomlib.presentation.formats import number, plural
from loomlib.statistics.multiplicity import holm

from ..values.outcomes import Outcome
from .gates import GateVerdict, exit_code, gate_not_worse
from .gathered import gather
from .pairing import LOST, SAME, WON, Flip
from .verdicts import BETTER, TOO_FEW, WORSE, EvaluatorComparison, compare_results
from .words import p_text, percent_text, printable, score_text

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MARGIN = 0.02
COLUMNS = ("evaluator", "verdict", "cases", "baseline", "new", "difference [95 %]", "p (Holm)", "won", "lost", "effect")
_ORDER = {LOST: 0, WON: 1, SAME: 2}
FLIP_COLUMNS = ("case", "evaluator", "verdict", "baseline", "new", "tags")
_OPENED = 40
_PAGE_ROWS, _MOST_PAGES = 100, 10
"""Flips on a page: some open to their evidence, the others are rows in folded pages; the DataFrame has them all."""


class Evidence(Protocol):
    """Who can show what lies behind a flip: both runs' answers."""

    @property
    def run_ids(self) -> tuple[str, str]: ...
    def folds(self, flips: Sequence[Flip], names: tuple[str, str]) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A new run against a baseline, evaluator by evaluator, on the cases that say the same in both.

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
        object.__setattr__(self, "_by_name", {each.evaluator: each for each in self.evaluators})

    def __getitem__(self, evaluator: str) -> EvaluatorComparison:
        return self._by_name[evaluator]

    def gates(self, margin: float | None = None) -> tuple[GateVerdict, ...]:
        """One verdict an evaluator: missed only if worse by more than the margin with 95 % confidence."""
        allowed = self.margin if margin is None else margin
        return tuple(gate_not_worse(each, allowed) for each in self.evaluators)

    @property
    def exit_code(self) -> int:
        """2 when a gate is missed, else 0."""
        return exit_code(self.gates())

    def flips(self, verdict: str | None = None, *, evaluator: str | None = None) -> tuple[Flip, ...]:
        """How cases went: "won", "lost" or "same" ones (None: those that differ), of one evaluator or of all."""
        wanted = {WON, LOST} if verdict is None else {verdict}
        if not wanted <= {WON, LOST, SAME}:
            raise ValueError(f"a case is {WON}, {LOST} or {SAME}, not {verdict!r}")
        chosen = self.evaluators if evaluator is None else (self[evaluator],)
        return tuple(flip for each in chosen for flip in each.flips if flip.verdict in wanted)

    def sentences(self) -> list[str]:
        """The answer first, then each evaluator's evidence, then what was not compared."""
        return [self.headline(), *(each.sentence() for each in self.evaluators), *self.notes()]

    def headline(self) -> str:
        """The whole comparison in a sentence."""
        new, baseline = self.names
        judged = [each for each in self.evaluators if each.verdict != TOO_FEW]
        if not judged:
            return f"{new} and {baseline} have too few cases in common to be compared."
        worse = [each for each in judged if each.verdict == WORSE]
        better = [each for each in judged if each.verdict == BETTER]
        told = [f"{word} by {_list(them)}" for word, them in (("worse", worse), ("better", better)) if them]
        if told:
            return f"Against {baseline}, {new} is {' and '.join(told)}."
        return (
            f"No difference found between {new} and {baseline} by {_list(judged)}; that is no proof that there is none "
            f"(the intervals say how large one could be)."
        )

    def notes(self) -> list[str]:
        """What was left out of the comparison and why, and what to keep in mind."""
        notes: list[str] = []
        left_out: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for each in self.evaluators:
            for words, ids in each.unpaired.counted():
                left_out.setdefault((words, ids), []).append(each.evaluator)
        for (words, ids), evaluators in left_out.items():
            whom = "" if len(evaluators) == len(self.evaluators) else f" by {', '.join(evaluators)}"
            notes.append(f"Not compared{whom}: {plural(len(ids), 'case')} {words} ({_ids(ids)}).")
        for ran, names in ((self.names[0], self.only_new), (self.names[1], self.only_baseline)):
            if names:
                notes.append(f"Judged in {ran} only: {', '.join(names)}.")
        tested = sum(each.p_adjusted is not None for each in self.evaluators)
        if tested > 1:
            notes.append(f"p-values are adjusted over {tested} evaluators (Holm).")
        return notes

    def rows(self) -> list[tuple[str, ...]]:
        """One row an evaluator in the order of `COLUMNS`, as text."""
        return [_row(each) for each in self.evaluators]

    def flip_rows(self, verdict: str | None = None) -> list[tuple[str, ...]]:
        """One row a case that differs (see `flips`) in the order of `FLIP_COLUMNS`, as text; lost ones first."""
        flips = sorted(self.flips(verdict), key=lambda flip: _ORDER[flip.verdict])
        return [_flip_row(flip, is_rate=self[flip.evaluator].is_rate) for flip in flips]

    def table(self) -> pd.DataFrame:
        """One row an evaluator, as text for reading; `frame()` has numbers."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(COLUMNS)).set_index("evaluator")

    def frame(self) -> pd.DataFrame:
        """One row an evaluator, as numbers; differences are new minus baseline in shares or scores."""
        import pandas as pd

        rows = [
            {
                "evaluator": each.evaluator, "measure": each.measure, "verdict": each.verdict, "n": each.n,
                "baseline": each.baseline.value, "value": each.value.value, "difference": each.difference.value,
                "difference_low": each.difference.low, "difference_high": each.difference.high,
                "p_value": each.test.p_value, "p_adjusted": each.p_adjusted, "effect": each.effect,
                "won": each.won, "lost": each.lost, "same": each.same,
            }
            for each in self.evaluators
        ]  # fmt: skip
        numeric = ("baseline", "value", "difference", "difference_low", "difference_high", "p_value", "p_adjusted",
                   "effect")  # fmt: skip
        names = ["evaluator", "measure", "verdict", "n", *numeric, "won", "lost", "same"]
        return pd.DataFrame(rows, columns=names).set_index("evaluator").astype(dict.fromkeys(numeric, "float64"))

    def flip_frame(self) -> pd.DataFrame:
        """One row a compared case and evaluator, with both numbers and the traces of both runs."""
        import pandas as pd

        names = ("case_id", "evaluator", "verdict", "baseline", "value", "difference", "tags", "trace_ids",
                 "baseline_trace_ids")  # fmt: skip
        flips = [flip for each in self.evaluators for flip in each.flips]
        return pd.DataFrame([[getattr(flip, name) for name in names] for flip in flips], columns=list(names))

    def summary(self) -> dict[str, object]:
        """The comparison as plain values, ready for JSON."""
        return {
            "headline": self.headline(),
            "names": list(self.names),
            "run_ids": list(self.evidence.run_ids) if self.evidence else None,
            "margin": self.margin,
            "evaluators": [each.summary() for each in self.evaluators],
            "gates": [gate.summary() for gate in self.gates()],
            "notes": self.notes(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        return printable("\n".join(self.sentences()))

    def figures(self) -> dict[str, go.Figure]:
        """Charts by name: `differences` with their intervals, and `flips`, cases won and lost."""
        return call("Comparison.figures", self)

    def _repr_html_(self) -> str:
        from .page import folded, listed, page, table

        return page(
            f"{self.names[0]} against {self.names[1]}",
            [self.headline(), *(gate.sentence() for gate in self.gates())],
            table(COLUMNS, self.rows()),
            *self._flip_pages(),
            folded("The evidence in words", listed([each.sentence() for each in self.evaluators])),
            folded("What was not compared, and what to keep in mind", listed(self.notes())),
        )

    def _flip_pages(self) -> list[str]:
        from .page import folded, table

        flips = sorted(self.flips(), key=lambda flip: _ORDER[flip.verdict])
        if not flips:
            return ['<p class="loom-quiet">No case went differently.</p>']
        opened = _OPENED if self.evidence else 0
        parts = [f"<h4>Cases that went differently: {number(len(flips), 0)}</h4>"]
        if self.evidence:
            parts.append(self.evidence.folds(flips[:opened], self.names))
        rows = [_flip_row(each, is_rate=self[each.evaluator].is_rate) for each in flips[opened:]]
        for start in range(0, min(len(rows), _PAGE_ROWS * _MOST_PAGES), _PAGE_ROWS):
            some = rows[start : start + _PAGE_ROWS]
            first = opened + start + 1
            label = f"{number(first, 0)} to {number(first + len(some) - 1, 0)} of {number(len(flips), 0)}"
            parts.append(folded(label, table(FLIP_COLUMNS, some), is_open=not opened and start == 0))
        if (more := len(rows) - _PAGE_ROWS * _MOST_PAGES) > 0:
            parts.append(f'<p class="loom-quiet">… {number(more, 0)} more; all of them are in .flip_frame()</p>')
        return parts


def compare(
    a: Sequence[Outcome],
    b: Sequence[Outcome],
    *,
    margin: float = MARGIN,
    seed: int = 0,
    names: tuple[str, str] = ("new", "baseline"),
) -> Comparison:
    """The new run `a` against the baseline `b`, paired by case; `seed` fixes the bootstrap.

        compare(new.outcomes(), old.outcomes())            # what new.compare(old) does

    Only cases with the same id and the same content are compared. `margin` is how much worse is not worth an alarm, in
    shares or scores (0.02: two points).
    """
    if margin < 0:
        raise ValueError(f"a margin is 0 or above, not {margin}")
    new, baseline = gather(a), gather(b)
    shared = [name for name in new if name in baseline]
    found = [compare_results(new[name], baseline[name], seed=seed) for name in shared]
    return Comparison(
        evaluators=adjusted(found),
        margin=margin,
        names=names,
        only_new=tuple(name for name in new if name not in baseline),
        only_baseline=tuple(name for name in baseline if name not in new),
    )


def adjusted(found: Sequence[EvaluatorComparison]) -> tuple[EvaluatorComparison, ...]:
    """The same with p-values adjusted over all of them that have one (Holm)."""
    tested = [(place, each.test.p_value) for place, each in enumerate(found) if each.test.p_value is not None]
    values = dict(zip((place for place, _ in tested), holm([p for _, p in tested]), strict=True))
    return tuple(replace(each, p_adjusted=values.get(place)) for place, each in enumerate(found))


def _row(each: EvaluatorComparison) -> tuple[str, ...]:
    name = f"{each.evaluator} ({', '.join(each.labels)})" if each.labels else each.evaluator
    return (
        name, each.verdict, number(each.n, 0), _number(each.baseline.value, each.is_rate),
        _number(each.value.value, each.is_rate), each.change, p_text(each.p_adjusted), number(each.won, 0),
        number(each.lost, 0), "–" if each.effect is None else number(each.effect, 2),
    )  # fmt: skip


def _flip_row(flip: Flip, *, is_rate: bool) -> tuple[str, ...]:
    return (
        flip.case_id, flip.evaluator, flip.verdict, _number(flip.baseline, is_rate), _number(flip.value, is_rate),
        ", ".join(flip.tags),
    )  # fmt: skip


def _number(value: float | None, is_rate: bool) -> str:
    if value is None:
        return "–"
    return percent_text(value) if is_rate else score_text(value)


def _list(them: Sequence[EvaluatorComparison]) -> str:
    return ", ".join(each.evaluator for each in them)


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
