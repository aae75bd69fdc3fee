"""Evidence for the cases that changed between two runs: both answers, verdicts, and alignments of tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation.html import fragment
from loomlib.presentation.text import printable

from ..compare import Comparison, compare
from ..compare.page import heading, joined, quiet, table
from ..compare.pairing import LOST, WON, Flip
from ..values.case_states import deciding
from ..values.cases import EvalCase
from ..values.judgement import Judgement
from .case_body import conversation, facts, line, paths, verdict_rows

if TYPE_CHECKING:
    from markupsafe import Markup

    from ..runs.eval_run import EvalRun

_COLUMNS: Final = ("run", "evaluator", "verdict", "score", "why")
_MARKS: Final[Mapping[str, str]] = {"lost": "✗", "won": "✓", "same": "•"}


def compare_runs(new: EvalRun, baseline: EvalRun, **options: Any) -> Comparison:
    """Compare two runs; on the page, changed cases can be expanded to show both answers and where their paths differ.

    Args:
        new: The run to judge.
        baseline: The run to compare it with.
        **options: Options of `loomlib.evals.compare.compare`.
    """
    options.setdefault("names", _names(new, baseline))
    comparison = compare(new.outcomes(), baseline.outcomes(), **options)
    return replace(comparison, evidence=FlipEvidence(new, baseline))


def _names(new: EvalRun, baseline: EvalRun) -> tuple[str, str]:
    """Return the targets' names; if they are equal, the runs' names; if these are equal too, the ids."""
    for names in (
        (new.target.name, baseline.target.name),
        (new.name, baseline.name),
        (new.id, baseline.id),
    ):
        if all(names) and names[0] != names[1]:
            return names
    return new.id, f"{baseline.id} (baseline)"


class FlipEvidence:
    """Renders changed cases from the two runs that were compared; reads the answers when they are rendered."""

    def __init__(self, new: EvalRun, baseline: EvalRun) -> None:
        self._runs = (new, baseline)

    @property
    def run_ids(self) -> tuple[str, str]:
        """Ids of the new run and the baseline."""
        return self._runs[0].id, self._runs[1].id

    def folds(self, flips: Sequence[Flip], names: tuple[str, str]) -> Markup:
        """Render changed cases, each in a collapsed section.

        Args:
            flips: The changed cases.
            names: Names of the new run and the baseline.
        """
        sides: list[dict[str, list[Judgement]]] = []
        for run in self._runs:
            positions = {case.id: position for position, case in enumerate(run.evalset.cases)}
            changed_positions = [
                positions[id] for id in dict.fromkeys(flip.case_id for flip in flips) if id in positions
            ]
            judgements: dict[str, list[Judgement]] = {}
            for judgement in run.judgements_at(
                [(position, n) for position in changed_positions for n in range(run.repeats)]
            ):
                judgements.setdefault(judgement.case_id, []).append(judgement)
            sides.append(judgements)
        cases = {case.id: case for case in self._runs[0].evalset.cases}
        return joined(
            [
                self._fold(flip, cases[flip.case_id], *(side.get(flip.case_id, []) for side in sides), names=names)
                for flip in flips
                if flip.case_id in cases
            ]
        )

    def _fold(
        self, flip: Flip, case: EvalCase, new: list[Judgement], old: list[Judgement], *, names: tuple[str, str]
    ) -> Markup:
        sides = zip(names, self._runs, explaining_repeats(new, old, flip.evaluator, flip.verdict), strict=True)
        shown = [
            (name if run.repeats == 1 else f"{name}, repeat {judgement.repeat + 1} of {run.repeats}", judgement)
            for name, run, judgement in sides
            if judgement is not None
        ]
        rows = [
            (name, *row)
            for name, judgement in reversed(shown)
            if flip.evaluator in judgement.verdicts
            for row in verdict_rows(flip.evaluator, judgement.verdicts[flip.evaluator])
        ]
        body: list[Markup | str] = [table(_COLUMNS, rows)]
        for name, judgement in reversed(shown):
            verdict = judgement.verdicts.get(flip.evaluator)
            body += [heading(name, 5), conversation(case, judgement.answer)]
            body += [paths(flip.evaluator, verdict)] if verdict else []
            body.append(quiet(facts(judgement.answer)))
        return fragment(
            "loomlib.evals:case.html.j2", css=flip.verdict, mark=_MARKS[flip.verdict], state=flip.verdict,
            name=printable(line(case.id, 60)), after=f" {printable(flip.evaluator)}",
            prompt=printable(line(case.prompt)), chips=(), body=joined(body),
        )  # fmt: skip


def explaining_repeats(
    new: Sequence[Judgement], baseline: Sequence[Judgement], evaluator: str, verdict: str
) -> tuple[Judgement | None, Judgement | None]:
    """Return the repeat of each run that explains how a case changed.

    For a lost case these are the new run's worst repeat and the baseline's best, for a won case the reverse. Repeats
    without a score count only where no repeat has one: comparisons leave them out.

    Args:
        new: The case's repeats in the new run.
        baseline: Its repeats in the baseline.
        evaluator: The evaluator that compares them.
        verdict: The verdict of the `Flip`.
    """
    return _extreme(new, evaluator, worst=verdict == LOST), _extreme(baseline, evaluator, worst=verdict == WON)


def _extreme(judgements: Sequence[Judgement], evaluator: str, *, worst: bool) -> Judgement | None:
    scored = [(rank, judgement) for judgement in judgements if (rank := _rank(judgement, evaluator)) is not None]
    if not scored:
        return judgements[0] if judgements else None
    _, judgement = (min if worst else max)(scored, key=itemgetter(0))
    return judgement


def _rank(judgement: Judgement, evaluator: str) -> tuple[bool, float] | None:
    """Return whether a repeat passed, and its value; None without a score."""
    verdict = judgement.verdicts.get(evaluator)
    if not isinstance(verdict, tuple) or not verdict:
        return None
    scores = deciding(verdict)
    return all(score.passed is not False for score in scores), mean(score.value for score in scores)
