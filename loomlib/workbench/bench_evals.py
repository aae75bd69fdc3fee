"""Eval sets, stored runs, and cases collected from invocations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..evals import EvalSet
from ..evals.capture import Collection
from ..evals.runs import EvalRun
from .context import Context
from .frames import eval_run_frame, eval_set_frame

if TYPE_CHECKING:
    import pandas as pd


class BenchEvals:
    """Evaluations of a workbench; `bench.evals`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def sets(self) -> pd.DataFrame:
        """Return the eval sets that ship with Loom; `EvalSet.read` takes their names."""
        from ..evals import shipped_sets

        return eval_set_frame(shipped_sets().values())

    def runs(self, *, limit: int | None = None) -> pd.DataFrame:
        """Return the stored runs, newest first.

        Args:
            limit: Maximum number of runs; all by default.
        """
        store = self._context.store
        return eval_run_frame(store.eval_runs.list(limit=limit), store.eval_runs.counts())

    def run(self, id: str) -> EvalRun:
        """Return the stored run with that id."""
        return EvalRun.load(self._context.store, id)

    def collect(
        self,
        evalset: EvalSet,
        *agents: str,
        since: datetime | timedelta | None = None,
        by_session: bool = True,
        **options: Any,
    ) -> Collection:
        """Collect cases from stored invocations: those that failed and a sample of those that succeeded.

            bench.evals.collect(evalset, "calculator", since=timedelta(days=1)).evalset.write("set.json")

        Args:
            evalset: The set to add the cases to.
            *agents: Names of agents, or groups (`group:team-a`); all by default.
            since: Only invocations at or after this time; a timedelta counts back from now. Everything by default.
            by_session: Create one case per session instead of one per invocation.
            **options: Options of `loomlib.evals.capture.collect_cases`: `failures`, `successes`, `seed`, `evaluators` …

        Raises:
            ValueError: `since` has no time zone.
        """
        from .capturing import collect

        return collect(self._context, evalset, agents, since=since, by_session=by_session, **options)
