"""Run an eval set with pytest: one test for each case.

    pytest --loom-evalset orders.evalset.json --loom-agent calculator [--loom-evaluator trajectory …]

A low score fails the test and shows each evaluator's rationale and where the tool calls deviate from the expected ones.
A case that was not answered or could not be judged is an error; a case to which no evaluator applies is skipped.
`-k`, `-x`, `-n` and `--junitxml` work as usual. Without a path on the command line only the cases run.

`--loom-agent` takes what `bench.agent(…, deploy=True)` takes (a name, a runtime id, an ARN, a blueprint), or
`module:function` for a function of the prompt. Without these options the plugin does nothing and imports nothing but
this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loomlib.evals import EvalCase, EvalSet
    from loomlib.evals.values.case_states import CaseResult
    from loomlib.pytest_cases import CaseRunner

_RUNNER: pytest.StashKey[CaseRunner] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("loom", "evaluation of agents (loom)")
    group.addoption(
        "--loom-evalset",
        action="append",
        default=[],
        metavar="SET",
        help="Eval set: a file, or the name of a shipped set.",
    )
    group.addoption("--loom-agent", metavar="AGENT", help="Agent to test: a name, id or ARN, or module:function.")
    group.addoption(
        "--loom-evaluator", action="append", default=[], metavar="NAME",
        help="Evaluator by name; repeatable (default: those that the set names or that its expectations require).",
    )  # fmt: skip
    group.addoption("--loom-where", default="local", choices=["local", "aws"], help="Where AgentCore runs.")
    group.addoption("--loom-repeats", type=int, default=1, help="How many times each case is run.")
    group.addoption("--loom-timeout", type=float, metavar="SECONDS", help="Time-out of each turn.")
    group.addoption(
        "--loom-reuse", action="store_true", help="Reuse stored answers of the same agent, version and prompt."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check the options before anything is collected."""
    if not config.getoption("--loom-evalset"):
        return
    if not config.getoption("--loom-agent"):
        raise pytest.UsageError("--loom-evalset needs --loom-agent, the agent to test")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases before `-k` and similar options select tests."""
    names = cast("list[str]", config.getoption("--loom-evalset"))
    if not names:
        return
    from loomlib.errors import LoomError
    from loomlib.evals import EvalSet
    from loomlib.pytest_cases import CaseRunner

    runner = CaseRunner(config)
    config.stash[_RUNNER] = runner
    for name in names:
        try:
            evalset = EvalSet.read(name)
        except LoomError as error:
            raise pytest.UsageError(str(error)) from error
        make: Any = getattr(EvalSetCases, "from_parent")  # noqa: B009 - pytest's own annotations of nodes are incomplete
        collector = make(session, name=_plain(evalset.name), nodeid=_plain(evalset.name), evalset=evalset)
        report = config.hook.pytest_make_collect_report(collector=collector)
        config.hook.pytest_collectreport(report=report)
        items += report.result


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the workbench."""
    runner = config.stash.get(_RUNNER, None)
    if runner is not None:
        runner.close()


class EvalSetCases(pytest.Collector):
    """An eval set as a node of pytest's tree."""

    def __init__(self, *, evalset: EvalSet, **more: Any) -> None:
        super().__init__(**more)  # pyright: ignore[reportUnknownMemberType]
        self.evalset = evalset

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case."""
        make: Any = getattr(EvalCaseTest, "from_parent")  # noqa: B009
        for case in self.evalset.cases:
            yield make(self, name=_plain(case.id), evalset=self.evalset, case=case)


class EvalCaseTest(pytest.Item):
    """One case. The first case that is set up runs all selected cases of the set."""

    _result: CaseResult

    def __init__(self, *, evalset: EvalSet, case: EvalCase, **more: Any) -> None:
        super().__init__(**more)  # pyright: ignore[reportUnknownMemberType]
        self.evalset, self.case = evalset, case
        for tag in case.tags:
            self.extra_keyword_matches.add(tag)

    def setup(self) -> None:
        """Run and judge the case; raise when that failed, skip when no evaluator applies."""
        self._result = self.config.stash[_RUNNER].result_of(self.evalset, self.case.id, self._selected_ids)

    def _selected_ids(self) -> list[str]:
        """Return the ids of the set's cases among the selected tests."""
        items = [item for item in self.session.items if isinstance(item, EvalCaseTest)]
        return [item.case.id for item in items if item.evalset is self.evalset]

    def runtest(self) -> None:
        """Fail if a score does not pass."""
        self.config.stash[_RUNNER].check(self._result)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the test's location, for reports."""
        return self.path, None, f"{self.parent.name if self.parent else ''}::{self.name}"


def _plain(text: str) -> str:
    """Return a name that is valid in a test id."""
    printable = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split()))
    return printable.replace("::", ":")
