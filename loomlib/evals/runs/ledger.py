"""An evaluation run in the store: opened or resumed, marked as running, finished with its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from loomlib.errors import EvalError
from loomlib.experiments import RunLedger
from loomlib.store import EvalRunRow
from loomlib.store.eval_runs import EvalRuns

from ..compare.summaries import Summary
from ..values.eval_set import EvalSet
from .stored_runs import stored_set


class EvalLedger(RunLedger[EvalRunRow]):
    """The row of one evaluation run.

    Its answers and scores are content-addressed rows of `Store.eval_answers`. Unlike a study's unit, a case is not
    marked as running before it is sent: a case without a stored answer is pending.
    """

    noun = "evaluation run"
    error = EvalError
    first_run = "agent.evaluate(evalset) creates the first one"
    details = "summary"

    @property
    def runs(self) -> EvalRuns:
        """The stored evaluation runs."""
        return self.store.eval_runs

    def open(self, run: EvalRunRow, evalset: EvalSet) -> EvalRunRow:
        """Return the stored run; store it with its set when it is new.

        Args:
            run: The requested run.
            evalset: Its set.

        Raises:
            EvalError: The stored run of this id evaluates something else.
        """
        stored = self.runs.get(self.id)
        if stored is None:
            self.runs.create(run, stored_set(evalset))
            return run
        advice = "omit run_id: a new run reuses every stored answer and score that still applies"
        self.check_same(_subject(stored), _subject(run), advice=advice)
        return stored

    def begin(self, timed: Sequence[str]) -> None:
        """Mark the run as running. The partial summary stored meanwhile has the same fields as `Summary`.

        Args:
            timed: Evaluators that judge durations.
        """
        summary = {"machine": self.conditions.stored(), "timed": list(timed)}
        self.runs.save(self.id, state="running", reason=None, summary=summary)

    def interrupt(self, error: BaseException) -> None:
        """Store that the run was interrupted by an error or by its user."""
        reason = f"{type(error).__name__}: {error}" if isinstance(error, Exception) else "stopped by its user"
        self.runs.save(self.id, state="interrupted", reason=reason)

    def finish(self, summary: Summary, *, state: str, reason: str) -> None:
        """Store the end of the run.

        Args:
            summary: Its summary.
            state: "complete" or "stopped".
            reason: Why it stopped early, "" when it did not.
        """
        values = {"reason": reason or None, "finished_at": datetime.now(UTC), "summary": summary.summary()}
        self.runs.save(self.id, state=state, **values)


def _subject(run: EvalRunRow) -> Mapping[str, Any]:
    """Return the settings that a run and the run that resumes it must share."""
    return {
        "set": run.set_digest,
        "target": run.target_key,
        "number of repeats": run.repeats,
        "list of evaluators": run.design.get("evaluators"),
    }
