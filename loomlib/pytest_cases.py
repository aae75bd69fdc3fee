"""Cases as tests: who is asked, when, and what becomes of the answers. Loaded only when pytest is given an eval set."""

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


class CaseFailed(pytest.fail.Exception):
    """A low score."""


class CaseNotAnswered(pytest.fail.Exception):
    """There is no answer to judge."""


class CaseNotJudged(pytest.fail.Exception):
    """There is an answer, and somebody could not judge it."""


class CaseRoom:
    """Asks and judges the cases of one pytest session.

    One process asks all the cases that it will test at once, when the first of a set comes up. A worker of pytest-xdist
    does not know which will be its own: it asks each when it comes, and there are several workers.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: dict[tuple[str, str], CaseResult] = {}
        self._bench: Workbench | None = None
        self._target: Any = None

    def result_of(self, evalset: EvalSet, case_id: str, wanted: Callable[[], list[str]]) -> CaseResult:
        """What became of a case. Raises for no answer and no judgement, skips what nobody has to judge.

        `wanted` gives the ids of the cases of this set that are left to test.
        """
        at = (evalset.digest, case_id)
        if at not in self._results:
            ids = {case_id} if hasattr(self._config, "workerinput") else {case_id, *wanted()}
            run = self._evaluate(evalset, ids)
            for each in case_results(run):
                self._results[evalset.digest, each.case.id] = each
        result = self._results.get(at)
        if result is None:
            raise CaseNotAnswered("the evaluation ended before this case was asked", pytrace=False)
        if result.state == NOT_ANSWERED:
            raise CaseNotAnswered(f"not answered: {headline(result)}\n\n{describe(result)}", pytrace=False)
        if result.state == NOT_JUDGED:
            raise CaseNotJudged(f"not judged: {headline(result)}\n\n{describe(result)}", pytrace=False)
        if result.state == NOT_APPLICABLE:
            pytest.skip(f"not applicable: {headline(result)}")
        return result

    @staticmethod
    def check(result: CaseResult) -> None:
        """Raises for a low score."""
        if result.state == FAILED:
            raise CaseFailed(f"{headline(result)}\n\n{describe(result)}", pytrace=False)

    def close(self) -> None:
        """Lets go of the workbench."""
        if self._bench is not None:
            self._bench.close()

    def _option(self, name: str) -> Any:
        return self._config.getoption(name)

    def _evaluate(self, evalset: EvalSet, ids: set[str]) -> EvalRun:
        given, some = self._option, evalset.where(lambda case: case.id in ids)
        chosen = given("--loom-evaluator") or default_evaluators(evalset)
        try:
            if self._target is None:
                self._target = self._find_target(given("--loom-agent"))
            return evaluate(
                self._target, some, chosen, given("--loom-repeats"), timeout_s=given("--loom-timeout"),
                reuse=given("--loom-reuse"), name="pytest", progress=Silent(),
            )  # fmt: skip
        except (LoomError, ValueError) as error:
            raise CaseNotAnswered(f"the evaluation cannot be begun: {error}", pytrace=False) from error

    def _find_target(self, name: str) -> Any:
        module, colon, function = name.partition(":")
        if colon and not name.startswith("arn:"):
            here = str(Path.cwd())
            if here not in sys.path:  # as `python -m` does; pytest itself adds only the folders of test files
                sys.path.insert(0, here)
            try:
                return getattr(import_module(module), function)
            except (ImportError, AttributeError) as error:
                raise EvalError(f"There is no such function: {error}", on=name, try_="module:function") from error
        from .workbench import connect

        if self._bench is None:
            self._bench = connect(self._option("--loom-where"))
        return self._bench.ensure_agent(name)
