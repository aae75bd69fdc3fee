"""Run the cases of eval sets as pytest tests. Imported only when pytest is given an eval set."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .errors import EvalError, LoomError
from .evals import EvalSet
from .evals.exports.case_text import describe, headline
from .evals.runs import EvalRun, Silent, evaluate
from .evals.runs.case_results import case_results
from .evals.values.case_states import FAILED, NOT_ANSWERED, NOT_APPLICABLE, NOT_JUDGED, CaseResult
from .evals.values.choices import default_evaluators

if TYPE_CHECKING:
    from .workbench import Workbench


class CaseFailedError(pytest.fail.Exception):
    """A case's score is below the threshold."""


class CaseNotAnsweredError(pytest.fail.Exception):
    """The agent did not answer."""


class CaseNotJudgedError(pytest.fail.Exception):
    """An evaluator could not judge the answer."""


class CaseRunner:
    """Runs and judges the cases of one pytest session.

    A single process runs all its selected cases of a set when the first of them is set up. A worker of pytest-xdist
    does not know its share in advance, so it runs each case when that case is set up.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: dict[tuple[str, str], CaseResult] = {}
        self._bench: Workbench | None = None
        self._target: Any = None

    def result_of(self, evalset: EvalSet, case_id: str, selected_ids: Callable[[], list[str]]) -> CaseResult:
        """Return the result of a case.

        Args:
            evalset: The set.
            case_id: The case.
            selected_ids: Returns the ids of the set's selected cases.

        Raises:
            CaseNotAnsweredError: The agent did not answer.
            CaseNotJudgedError: An evaluator could not judge.
        """
        at = (evalset.digest, case_id)
        if at not in self._results:
            ids = {case_id} if hasattr(self._config, "workerinput") else {case_id, *selected_ids()}
            run = self._evaluate(evalset, ids)
            for case_result in case_results(run):
                self._results[evalset.digest, case_result.case.id] = case_result
        result = self._results.get(at)
        if result is None:
            raise CaseNotAnsweredError("the evaluation ended before this case ran", pytrace=False)
        if result.state == NOT_ANSWERED:
            raise CaseNotAnsweredError(f"not answered: {headline(result)}\n\n{describe(result)}", pytrace=False)
        if result.state == NOT_JUDGED:
            raise CaseNotJudgedError(f"not judged: {headline(result)}\n\n{describe(result)}", pytrace=False)
        if result.state == NOT_APPLICABLE:
            pytest.skip(f"not applicable: {headline(result)}")
        return result

    @staticmethod
    def check(result: CaseResult) -> None:
        """Raise `CaseFailedError` if a score does not pass."""
        if result.state == FAILED:
            raise CaseFailedError(f"{headline(result)}\n\n{describe(result)}", pytrace=False)

    def close(self) -> None:
        """Close the workbench."""
        if self._bench is not None:
            self._bench.close()

    def _option(self, name: str) -> Any:
        return self._config.getoption(name)

    def _evaluate(self, evalset: EvalSet, ids: set[str]) -> EvalRun:
        option, selected = self._option, evalset.where(lambda case: case.id in ids)
        evaluators = option("--loom-evaluator") or default_evaluators(evalset)
        try:
            if self._target is None:
                self._target = self._find_target(option("--loom-agent"))
            return evaluate(
                self._target, selected, evaluators, option("--loom-repeats"), timeout_s=option("--loom-timeout"),
                reuse=option("--loom-reuse"), name="pytest", progress=Silent(),
            )  # fmt: skip
        except (LoomError, ValueError) as error:
            raise CaseNotAnsweredError(f"cannot start the evaluation: {error}", pytrace=False) from error

    def _find_target(self, name: str) -> Any:
        module, colon, function = name.partition(":")
        if colon and not name.startswith("arn:"):
            cwd = str(Path.cwd())
            if cwd not in sys.path:  # as `python -m` does; pytest itself adds only the folders of test files
                sys.path.insert(0, cwd)
            try:
                return getattr(import_module(module), function)
            except (ImportError, AttributeError) as error:
                raise EvalError(f"Cannot import the function: {error}", on=name, try_="module:function") from error
        from .workbench import connect

        if self._bench is None:
            self._bench = connect(self._option("--loom-where"))
        return self._bench.agent(name, deploy=True)
