"""The part of the panel that compares two stored runs."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlib.errors import EvalError
from loomlib.evals import EvalRun

from ...kit import Form, Panel, action
from .cases import case_details, place_of
from .comparing import comparison_code, comparison_details


class CompareActions(Panel):
    """Actions that compare two runs and show the cases with different outcomes."""

    _compared: dict[str, Any]

    @action(lane="view")
    def compare(self, form: Form) -> Mapping[str, Any]:
        """Compare two stored runs, paired by case."""
        new, baseline = form.text("new"), form.text("baseline")
        if not new or not baseline:
            raise EvalError("Choose two runs to compare", try_="a new run and a baseline")
        if new == baseline:
            raise EvalError("A run cannot be compared with itself", on=new, try_="choose another run as the baseline")
        margin = form.number("margin", 2.0) / 100
        self.show_code(comparison_code(self.bench, new, baseline, margin))
        return self._put_comparison(self.bench.evals.run(new), self.bench.evals.run(baseline), margin)

    @action(lane="view")
    def flip(self, form: Form) -> Mapping[str, Any]:
        """Show a case with different verdicts, in both runs."""
        place, id = form.count("place"), form.text("case")
        sides = [self.bench.evals.run(form.text("new")), self.bench.evals.run(form.text("baseline"))]
        cases = []
        for run in sides:
            at = place if run is sides[0] else place_of(run.evalset, id)
            judgements = run.judgements_at([(at, repeat) for repeat in range(run.repeats)]) if at is not None else []
            cases.append(case_details(run, judgements[0]) if judgements else None)
        return {"new": cases[0], "baseline": cases[1]}

    def _put_comparison(self, new: EvalRun, baseline: EvalRun, margin: float) -> Mapping[str, Any]:
        described, flips = comparison_details(new, baseline, margin=margin)
        described["flips"] = self.tables.put("flips", flips)
        self._compared = described
        self.send_message("compared", **described)
        self.say(described["headline"])
        return {}
