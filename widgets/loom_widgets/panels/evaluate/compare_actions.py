"""Actions of the Evaluate panel that compare two stored runs."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loomlib.errors import EvalError
from loomlib.evals import EvalRun
from loomlib.evals.runs import Judgement
from loomlib.evals.views.evidence import explaining_repeats

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
        """Show a case whose verdict differs between the runs: for each run, the repeat that explains the change."""
        new, baseline = (self._panel.bench.evals.run(form.text(name)) for name in ("new", "baseline"))
        repeats = explaining_repeats(
            _repeats(new, form.count("place")),
            _repeats(baseline, place_of(baseline.evalset, form.text("case"))),
            form.text("evaluator"),
            form.text("verdict"),
        )
        return {
            name: None if judgement is None else case_details(run, judgement)
            for name, run, judgement in zip(("new", "baseline"), (new, baseline), repeats, strict=True)
        }

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


def _repeats(run: EvalRun, place: int | None) -> list[Judgement]:
    """Return the judgements of a case by its position; none when the run's set does not contain it."""
    return [] if place is None else run.judgements_at([(place, repeat) for repeat in range(run.repeats)])
