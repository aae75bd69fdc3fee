"""Comparison of two stored runs: the verdict, the evidence, and the cases with different outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loomlib import Workbench
from loomlib.errors import EvalError
from loomlib.evals.compare import Comparison
from loomlib.evals.compare.comparison import COLUMNS

from ...kit.source import connect_code

if TYPE_CHECKING:
    from loomlib.evals.runs import EvalRun

_KEYS = ("evaluator", "verdict", "cases", "baseline", "new", "difference", "p", "won", "lost", "effect")
_RANKS = {"lost": 0, "won": 1}


def comparison_details(
    new: EvalRun, baseline: EvalRun, *, margin: float
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the comparison as plain values, and a row for each case with different verdicts, lost ones first.

    Args:
        new: The newer run.
        baseline: The run it is compared with.
        margin: Largest accepted loss, in shares or scores (0.02 is two points).

    Raises:
        EvalError: The runs have no evaluator in common.
    """
    comparison = new.compare(baseline, margin=margin)
    if not comparison.evaluators:
        raise EvalError("The two runs have no evaluator in common", on=f"{new.id} and {baseline.id}",
                        try_=f"a run judged by {', '.join(baseline.evaluators)}")  # fmt: skip
    described = {
        "new": new.id,
        "baseline": baseline.id,
        "names": list(comparison.names),
        "headline": comparison.headline(),
        "gates": [{"outcome": gate.outcome, "sentence": gate.sentence()} for gate in comparison.gates()],
        "evidence": [item.sentence() for item in comparison.evaluators],
        "notes": comparison.notes(),
        "heads": list(COLUMNS),
        "rows": [dict(zip(_KEYS, row, strict=True)) for row in comparison.rows()],
    }
    return described, _flips(comparison, {case.id: at for at, case in enumerate(new.evalset.cases)})


def comparison_code(bench: Workbench, new: str, baseline: str, margin: float) -> str:
    """Return the comparison as Python.

    Args:
        bench: The workbench that the code connects to.
        new: Id of the newer run.
        baseline: Id of the run it is compared with.
        margin: Largest accepted loss, in shares or scores.
    """
    return f"{connect_code(bench)}bench.evals.run({new!r}).compare(bench.evals.run({baseline!r}), margin={margin!r})"


def _flips(comparison: Comparison, places: dict[str, int]) -> list[dict[str, Any]]:
    flips = sorted(comparison.flips(), key=lambda flip: _RANKS.get(flip.verdict, 2))
    return [
        {
            "case": flip.case_id,
            "place": places.get(flip.case_id),
            "evaluator": flip.evaluator,
            "verdict": flip.verdict,
            "baseline": flip.baseline,
            "new": flip.value,
            "tags": ", ".join(flip.tags),
        }
        for flip in flips
    ]
