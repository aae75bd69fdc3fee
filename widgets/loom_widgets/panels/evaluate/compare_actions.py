"""Actions of the Evaluate panel that compare two stored runs."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlib.errors import EvalError
from loomlib.evals import EvalRun

from ...kit import Form, PanelPort, action
from .cases import case_details, place_of
from .comparing import comparison_code, comparison_details


class CompareActions:
    """Actions that compare two runs and show the cases with different outcomes."""

    def __init__(self, panel: PanelPort) -> None:
        self._panel = panel
        self.last: Mapping[str, Any] = {}
        """The last comparison, as the views draw it."""

    @action(lane="view")
    def compare(self, form: Form) -> None:
        """Compare two stored runs, paired by case."""
        new, baseline = form.text("new"), form.text("baseline")
        if not new or not baseline:
            raise EvalError("Choose two runs to compare", try_="a new run and a baseline")
        if new == baseline:
            raise EvalError("A run cannot be compared with itself", on=new, try_="choose another run as the baseline")
        margin = form.number("margin", 2.0) / 100
        self._panel.show_code(comparison_code(self._panel.bench, new, baseline, margin))
        self.show_comparison(self._panel.bench.evals.run(new), self._panel.bench.evals.run(baseline), margin)

    @action(lane="view")
    def flip(self, form: Form) -> Mapping[str, Any]:
        """Show a case with different verdicts, in both runs."""
        place, id = form.count("place"), form.text("case")
        sides = [self._panel.bench.evals.run(form.text("new")), self._panel.bench.evals.run(form.text("baseline"))]
        cases = []
        for run in sides:
            at = place if run is sides[0] else place_of(run.evalset, id)
            judgements = run.judgements_at([(at, repeat) for repeat in range(run.repeats)]) if at is not None else []
            cases.append(case_details(run, judgements[0]) if judgements else None)
        return {"new": cases[0], "baseline": cases[1]}

    def show_comparison(self, new: EvalRun, baseline: EvalRun, margin: float) -> None:
        """Compare two runs and show the result.

        Args:
            new: The newer run.
            baseline: The run it is compared with.
            margin: Largest accepted loss, in shares or scores (0.02 is two points).
        """
        described, flips = comparison_details(new, baseline, margin=margin)
        described["flips"] = self._panel.tables.put("flips", flips)
        self.last = described
        self._panel.send_message("compared", **described)
        self._panel.say(described["headline"])
