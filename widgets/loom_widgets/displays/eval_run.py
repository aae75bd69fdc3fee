"""An evaluation run: its cases, failed ones first; an opened case shows its answer, expectation, verdicts and paths."""

# pyright: basic

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from loomlib import EvalRun
from loomlib.errors import EvalError
from loomlib.evals.compare.summaries import COLUMNS

from ..kit import Form, action
from ..panels.evaluate.cases import case_details, case_rows, head_sentence, run_header
from .display import Display, small_table
from .rows import FIRST


class EvalRunDisplay(Display):
    """A stored evaluation run."""

    called: ClassVar[str] = "Evaluation"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.displays", "eval_run.js")
    parts: ClassVar[tuple[tuple[str, str], ...]] = (*Display.parts, ("loom_widgets.panels.evaluate", "case.js"))
    _rows: Sequence[Mapping[str, Any]] = ()

    def fill(self) -> Mapping[str, Any]:
        """Return the target and the set; the cases are read in the background."""
        run: EvalRun = self.value
        self.title = f"Evaluation of {run.target.name}"
        self.show_code(self._line(run))
        return {"labels": list(run.labels), "run": run.id}

    def begin(self) -> None:
        """Read the cases."""
        self.later("read")

    @action(lane="read")
    def read(self) -> None:
        """Read every case, failed ones first."""
        run: EvalRun = self.value
        rows = case_rows(run)
        head = run_header(run, rows)
        summary = small_table(COLUMNS, run.summary().rows())
        self._rows = rows
        self.tables.put("cases", rows)
        self.say(head_sentence(head))
        self.show(asked={"head": head, "summary": summary, "cases": {"rows": rows[:FIRST], "total": len(rows)}})

    @action(lane="view")
    def filter(self, form: Form) -> Mapping[str, Any]:
        """Filter the cases by state and text."""
        state, text = form.text("state"), form.text("text").strip().casefold()
        rows = [
            row
            for row in self._rows
            if (not state or row["state"] == state)
            and (not text or text in row["case"].casefold() or text in row["asked"].casefold())
        ]
        return {"shown": self.tables.put("cases", rows), "of": len(self._rows)}

    @action(lane="view")
    def case(self, form: Form) -> Mapping[str, Any]:
        """Return one case in full."""
        run: EvalRun = self.value
        judgements = run.judgements_at([(form.count("place"), form.count("repeat"))])
        if not judgements:
            raise EvalError(
                "The case has no answer yet", on=run.id, try_="wait until it is answered, or resume the run"
            )
        self.show_code(f"{self._line(run)}\nrun[{judgements[0].case_id!r}][{judgements[0].repeat}]")
        # Only a workbench can read its trace, and a run has no workbench; the Evaluate panel shows the trace.
        return {**case_details(run, judgements[0]), "invocation": None}

    def _line(self, run: EvalRun) -> str:
        return f"from loomlib import EvalRun\n\nrun = EvalRun.load(bench.context.store, {run.id!r})"

    def _drop(self) -> None:
        self._rows = ()
        self.tables.put("cases", ())
        super()._drop()
