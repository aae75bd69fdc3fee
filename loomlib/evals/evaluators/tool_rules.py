"""Rules of a whole conversation's tool calls: a tool that must be used, tools that may not, calls without use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, ClassVar

from ..matching.matchers import json_equal
from ..matching.tool_matching import Arguments, ToolMatching, call_text, printable
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from ..values.tool_use import ExpectedTool, ToolUse
from .paths import tools_of_answer
from .turn_by_turn import PASSED, Judgement


@dataclass(frozen=True, kw_only=True)
class ToolUsed(Judgement):
    """1 when `tool` was called (`at_least` and `at_most` so many times), with `arguments` where they are given.

    Without `tool` it is the share of the tools that the case expects, by name, of which there was a call.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    tool: str | None = None
    at_least: int = 1
    at_most: int | None = None
    arguments: Mapping[str, Any] | None = None
    matchers: Arguments = True

    @cached_property
    def _matching(self) -> ToolMatching:
        return ToolMatching(self.matchers)

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score | NotApplicable:
        """Of all turns together."""
        if self.tool is None:
            return self._of_case(case, answer)
        wanted = ExpectedTool(name=self.tool, arguments=self.arguments)
        tools = tools_of_answer(case, answer)
        count = sum(self._matching.fits(wanted, use) for use in tools)
        most = sum(self._matching.fits(wanted, use, True) for use in tools)
        if most != count and self._is_right(count) != self._is_right(most):
            raise JudgeFailedError("Nobody recorded the arguments of a call", kind="no_trajectory", on=case.id)
        if self._is_right(count):
            return PASSED
        asked = f"at least {self.at_least}" if count < self.at_least else f"at most {self.at_most}"
        name = call_text(self.tool, self.arguments) if self.arguments is not None else self.tool
        return self.score(0.0, f"{name} was called {count} times, {asked} was wanted")

    def _is_right(self, count: int) -> bool:
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)

    def _of_case(self, case: EvalCase, answer: CaseAnswer) -> Score | NotApplicable:
        if not case.expected_tools:
            return NotApplicable("the case expects no tool")
        wanted = dict.fromkeys(each.name for each in case.expected_tools)
        used = {use.name for use in tools_of_answer(case, answer)}
        missing = [name for name in wanted if name not in used]
        if not missing:
            return PASSED
        return self.score(1 - len(missing) / len(wanted), f"never called: {', '.join(missing)}")


@dataclass(frozen=True, kw_only=True)
class ForbiddenTools(Judgement):
    """1 when no forbidden tool was called: the case's `forbidden_tools` and `tools`; `*` in one stands for any text."""

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    tools: tuple[str, ...] = ()

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score | NotApplicable:
        """1 or 0; the calls are in the details."""
        forbidden = (*case.forbidden_tools, *self.tools)
        if not forbidden:
            return NotApplicable("no tool is forbidden")
        calls = [
            (place, use)
            for place, use in enumerate(tools_of_answer(case, answer), 1)
            if any(fnmatchcase(use.name, each) for each in forbidden)
        ]
        if not calls:
            return PASSED
        told = [f"call {place}: {call_text(use.name, use.arguments)}" for place, use in calls[:50]]
        return self.score(0.0, f"forbidden: {'; '.join(told[:3])}", details={"calls": told})


@dataclass(frozen=True, kw_only=True)
class RedundantCalls(Judgement):
    """The share of calls that were not redundant. Redundant: the same tool with the same arguments again, and the same
    came back, so that nothing new was learned. Polling that sees something change, and a second try after a failure
    that then succeeds, are not.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score:
        """1 when none is; the redundant calls are in the details."""
        tools = tools_of_answer(case, answer)
        by_name: defaultdict[str, list[ToolUse]] = defaultdict(list)
        told: list[str] = []
        for place, use in enumerate(tools, 1):
            before = by_name[use.name]
            if any(_says_nothing_new(use, earlier, case) for earlier in before):
                told.append(f"call {place}: {call_text(use.name, use.arguments)}")
            elif len(before) < 1000:
                before.append(use)
        if not told:
            return PASSED
        rationale = f"{len(told)} of {len(tools)} calls brought nothing new: {'; '.join(told[:3])}"
        return self.score(1 - len(told) / len(tools), rationale, details={"calls": told[:50]})


def _says_nothing_new(use: ToolUse, earlier: ToolUse, case: EvalCase) -> bool:
    if use.arguments is None or earlier.arguments is None:
        raise JudgeFailedError(
            f"Nobody recorded the arguments of {printable(use.name)}, which was called again",
            kind="no_trajectory",
            on=case.id,
        )
    return (
        use.status == earlier.status
        and json_equal(use.arguments, earlier.arguments)
        and json_equal(use.result, earlier.result)
    )
