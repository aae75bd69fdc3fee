"""Cases that went differently in two runs, opened: both answers, both verdicts, and where each path parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..compare import Comparison, compare
from ..compare.page import escape, table
from ..compare.pairing import Flip
from .case_body import conversation, facts, line, paths, verdict_rows

if TYPE_CHECKING:
    from ..runs.eval_run import EvalRun
    from ..values.cases import EvalCase
    from ..values.judgement import Judgement

_COLUMNS: Final = ("run", "evaluator", "verdict", "score", "why")
_MARKS: Final[Mapping[str, str]] = {"lost": "✗", "won": "✓", "same": "•"}


def compare_runs(new: EvalRun, baseline: EvalRun, **options: Any) -> Comparison:
    """Compare two runs; on the page each case that changed opens to both answers and to where their paths differ.

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
    """Shows a flip out of the two runs that were compared. It reads what it shows when it is shown."""

    def __init__(self, new: EvalRun, baseline: EvalRun) -> None:
        self._runs = (new, baseline)

    @property
    def run_ids(self) -> tuple[str, str]:
        """The new run's and the baseline's."""
        return self._runs[0].id, self._runs[1].id

    def folds(self, flips: Sequence[Flip], names: tuple[str, str]) -> str:
        """One fold a flip."""
        sides: list[dict[str, Judgement]] = []
        for run in self._runs:
            places = {case.id: place for place, case in enumerate(run.evalset.cases)}
            wanted = {id: places[id] for id in dict.fromkeys(flip.case_id for flip in flips) if id in places}
            found = run.judgements_at([(place, n) for place in wanted.values() for n in range(run.repeats)])
            chosen: dict[str, Judgement] = {}
            for each in found:
                chosen.setdefault(each.case_id, each)
            sides.append(chosen)
        cases = {case.id: case for case in self._runs[0].evalset.cases}
        return "".join(
            self._fold(flip, cases[flip.case_id], *(side.get(flip.case_id) for side in sides), names=names)
            for flip in flips
            if flip.case_id in cases
        )

    def _fold(
        self, flip: Flip, case: EvalCase, new: Judgement | None, old: Judgement | None, *, names: tuple[str, str]
    ) -> str:
        head = (
            f'<span class="loom-state loom-{flip.verdict}">{_MARKS[flip.verdict]} {flip.verdict}</span> '
            f"<strong>{escape(line(case.id, 60))}</strong> {escape(flip.evaluator)} "
            f'<span class="loom-quiet">{escape(line(case.prompt))}</span>'
        )
        both = [(name, each) for name, each in zip(names, (new, old), strict=True) if each is not None]
        rows = [
            (name, *row)
            for name, each in reversed(both)
            if flip.evaluator in each.verdicts
            for row in verdict_rows(flip.evaluator, each.verdicts[flip.evaluator])
        ]
        body = [table(_COLUMNS, rows)]
        for name, each in reversed(both):
            said = each.verdicts.get(flip.evaluator)
            body.append(
                f"<h5>{escape(name)}</h5>{conversation(case, each.answer)}{paths(flip.evaluator, said) if said else ''}"
                f'<p class="loom-quiet">{escape(facts(each.answer))}</p>'
            )
        return f'<details class="loom-case"><summary>{head}</summary>{"".join(body)}</details>'
