"""Evidence for the cases that changed between two runs: both answers, verdicts, and alignments of tool calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from loomlib.presentation.html import fragment
from loomlib.presentation.text import printable

from ..compare import Comparison, compare
from ..compare.page import heading, joined, quiet, table
from ..compare.pairing import Flip
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
    """Return the targets' names, the runs' names where those are the same, else the ids."""
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
        sides: list[dict[str, Judgement]] = []
        for run in self._runs:
            positions = {case.id: position for position, case in enumerate(run.evalset.cases)}
            changed_positions = [
                positions[id] for id in dict.fromkeys(flip.case_id for flip in flips) if id in positions
            ]
            judgements: dict[str, Judgement] = {}
            for judgement in run.judgements_at(
                [(position, n) for position in changed_positions for n in range(run.repeats)]
            ):
                judgements.setdefault(judgement.case_id, judgement)
            sides.append(judgements)
        cases = {case.id: case for case in self._runs[0].evalset.cases}
        return joined(
            [
                _fold(flip, cases[flip.case_id], *(side.get(flip.case_id) for side in sides), names=names)
                for flip in flips
                if flip.case_id in cases
            ]
        )


def _fold(
    flip: Flip, case: EvalCase, new: Judgement | None, old: Judgement | None, *, names: tuple[str, str]
) -> Markup:
    both = [(name, side) for name, side in zip(names, (new, old), strict=True) if side is not None]
    rows = [
        (name, *row)
        for name, judgement in reversed(both)
        if flip.evaluator in judgement.verdicts
        for row in verdict_rows(flip.evaluator, judgement.verdicts[flip.evaluator])
    ]
    body: list[Markup | str] = [table(_COLUMNS, rows)]
    for name, judgement in reversed(both):
        verdict = judgement.verdicts.get(flip.evaluator)
        body += [heading(name, 5), conversation(case, judgement.answer)]
        body += [paths(flip.evaluator, verdict)] if verdict else []
        body.append(quiet(facts(judgement.answer)))
    return fragment(
        "loomlib.evals:case.html.j2", css=flip.verdict, mark=_MARKS[flip.verdict], state=flip.verdict,
        name=printable(line(case.id, 60)), after=f" {printable(flip.evaluator)}", prompt=printable(line(case.prompt)),
        chips=(), body=joined(body),
    )  # fmt: skip
