"""pytest as a way to run an eval set: one test a case.

    pytest --loom-evalset orders.evalset.json --loom-agent calculator [--loom-evaluator trajectory …]

A low score fails the test and shows each evaluator's rationale and where the tools' path parts from the expected one.
A case that the agent did not answer, or that nobody could judge, is an error; one that expects nothing of any evaluator
is skipped. `-k`, `-x`, `-n` and `--junitxml` work as with any test. Without a path on the command line only the cases
run.

`--loom-agent` takes what `bench.ensure_agent` takes (a name, a runtime's id, an ARN, a blueprint), or `module:function`
for a function of the prompt. Without these options the plugin does nothing, and loads nothing but this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loomlib.evals import EvalCase, EvalSet
    from loomlib.evals.values.case_states import CaseResult
    from loomlib.pytest_cases import CaseRoom

_ROOM: pytest.StashKey[CaseRoom] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("loom", "evaluation of agents (loom)")
    group.addoption(
        "--loom-evalset",
        action="append",
        default=[],
        metavar="SET",
        help="An eval set: a file, or a shipped one's name.",
    )
    group.addoption("--loom-agent", metavar="AGENT", help="Who is asked: a name, id or ARN, or module:function.")
    group.addoption(
        "--loom-evaluator", action="append", default=[], metavar="NAME",
        help="An evaluator by name; repeatable (default: those that the set asks for or calls for).",
    )  # fmt: skip
    group.addoption("--loom-where", default="local", choices=["local", "aws"], help="Which AgentCore.")
    group.addoption("--loom-repeats", type=int, default=1, help="How often each case is asked.")
    group.addoption("--loom-timeout", type=float, metavar="SECONDS", help="For each turn.")
    group.addoption(
        "--loom-reuse", action="store_true", help="Take stored answers of the same agent, version and prompt."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Checks the options before anything is collected."""
    if not config.getoption("--loom-evalset"):
        return
    if not config.getoption("--loom-agent"):
        raise pytest.UsageError("--loom-evalset needs --loom-agent: whose answers are tested?")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Adds the cases before `-k` and its like choose among the tests."""
    names = cast("list[str]", config.getoption("--loom-evalset"))
    if not names:
        return
    from loomlib.errors import LoomError
    from loomlib.evals import EvalSet
    from loomlib.pytest_cases import CaseRoom

    room = CaseRoom(config)
    config.stash[_ROOM] = room
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
    """Lets go of the workbench."""
    room = config.stash.get(_ROOM, None)
    if room is not None:
        room.close()


class EvalSetCases(pytest.Collector):
    """A set as a node of pytest's tree."""

    def __init__(self, *, evalset: EvalSet, **more: Any) -> None:
        super().__init__(**more)  # pyright: ignore[reportUnknownMemberType]
        self.evalset = evalset

    def collect(self) -> Iterator[pytest.Item]:
        """Its cases."""
        make: Any = getattr(EvalCaseTest, "from_parent")  # noqa: B009
        for case in self.evalset.cases:
            yield make(self, name=_plain(case.id), evalset=self.evalset, case=case)


class EvalCaseTest(pytest.Item):
    """One case. It is asked and judged when the first of its set comes up, together with the others."""

    _result: CaseResult

    def __init__(self, *, evalset: EvalSet, case: EvalCase, **more: Any) -> None:
        super().__init__(**more)  # pyright: ignore[reportUnknownMemberType]
        self.evalset, self.case = evalset, case
        for tag in case.tags:
            self.extra_keyword_matches.add(tag)

    def setup(self) -> None:
        """Asks and judges; raises when that failed, skips what nobody has to judge."""
        self._result = self.config.stash[_ROOM].result_of(self.evalset, self.case.id, self._left)

    def _left(self) -> list[str]:
        """The cases of the same set among the chosen tests."""
        items = [each for each in self.session.items if isinstance(each, EvalCaseTest)]
        return [each.case.id for each in items if each.evalset is self.evalset]

    def runtest(self) -> None:
        """Fails for a low score."""
        self.config.stash[_ROOM].check(self._result)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where it is from, for reports."""
        return self.path, None, f"{self.parent.name if self.parent else ''}::{self.name}"


def _plain(text: str) -> str:
    """A name as a test's id may hold it."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split()))
    return shown.replace("::", ":")
