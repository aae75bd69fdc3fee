"""Rules on all tool calls of a conversation: required tools, forbidden tools, redundant calls."""

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
from .turn_by_turn import BaseEvaluator


@dataclass(frozen=True, kw_only=True)
class ToolUsed(BaseEvaluator):
    """1 when a tool was called, else 0; without `tool`, the share of the case's expected tools that were called.

    Attributes:
        tool: The tool's name, None to use the case's expected tools.
        at_least: Minimum number of calls.
        at_most: Maximum number of calls, None for no limit.
        arguments: Count only calls with these arguments, None for any.
        matchers: How arguments are compared, as in `trajectory`.
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

    @property
    def _version(self) -> int:
        return super()._version + (not isinstance(self.matchers, bool))

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score | NotApplicable:
        """Return the score over all turns together."""
        if self.tool is None:
            return self._of_case(case, answer)
        expected_tool = ExpectedTool(name=self.tool, arguments=self.arguments)
        tools = tools_of_answer(case, answer)
        count = sum(self._matching.fits(expected_tool, use) for use in tools)
        most = sum(self._matching.fits(expected_tool, use, True) for use in tools)
        if most != count and self._is_right(count) != self._is_right(most):
            raise JudgeFailedError("The arguments of a call were not recorded", kind="no_trajectory", on=case.id)
        if self._is_right(count):
            return self.full_score
        bound = f"at least {self.at_least}" if count < self.at_least else f"at most {self.at_most}"
        name = call_text(self.tool, self.arguments) if self.arguments is not None else self.tool
        return self.score(0.0, f"{name} was called {count} times; required: {bound}")

    def _is_right(self, count: int) -> bool:
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)

    def _of_case(self, case: EvalCase, answer: CaseAnswer) -> Score | NotApplicable:
        if not case.expected_tools:
            return NotApplicable("the case expects no tool")
        expected_names = dict.fromkeys(tool.name for tool in case.expected_tools)
        used_names = {use.name for use in tools_of_answer(case, answer)}
        missing = [name for name in expected_names if name not in used_names]
        if not missing:
            return self.full_score
        return self.score(1 - len(missing) / len(expected_names), f"never called: {', '.join(missing)}")


@dataclass(frozen=True, kw_only=True)
class ForbiddenTools(BaseEvaluator):
    """1 when no forbidden tool was called, else 0.

    Forbidden are the case's `forbidden_tools` and `tools`; `*` in a name stands for any text.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    tools: tuple[str, ...] = ()

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score | NotApplicable:
        """Return 1 or 0; the details list the forbidden calls."""
        forbidden = (*case.forbidden_tools, *self.tools)
        if not forbidden:
            return NotApplicable("no tool is forbidden")
        calls = [
            (position, use)
            for position, use in enumerate(tools_of_answer(case, answer), 1)
            if any(fnmatchcase(use.name, pattern) for pattern in forbidden)
        ]
        if not calls:
            return self.full_score
        listed = [f"call {position}: {call_text(use.name, use.arguments)}" for position, use in calls[:50]]
        return self.score(0.0, f"forbidden calls: {'; '.join(listed[:3])}", details={"calls": listed})


@dataclass(frozen=True, kw_only=True)
class RedundantCalls(BaseEvaluator):
    """Share of the calls that were not redundant.

    A call is redundant when it repeats an earlier call of the same tool with the same arguments and gets the same
    result. Polling that observes a change is not redundant, nor is a retry that succeeds after a failure.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Score:
        """Return the share; the details list the redundant calls."""
        tools = tools_of_answer(case, answer)
        by_name: defaultdict[str, list[ToolUse]] = defaultdict(list)
        listed: list[str] = []
        for position, use in enumerate(tools, 1):
            earlier_calls = by_name[use.name]
            if any(_is_repeated(use, earlier, case) for earlier in earlier_calls):
                listed.append(f"call {position}: {call_text(use.name, use.arguments)}")
            elif len(earlier_calls) < 1000:
                earlier_calls.append(use)
        if not listed:
            return self.full_score
        rationale = f"{len(listed)} of {len(tools)} calls were redundant: {'; '.join(listed[:3])}"
        return self.score(1 - len(listed) / len(tools), rationale, details={"calls": listed[:50]})


def _is_repeated(use: ToolUse, earlier: ToolUse, case: EvalCase) -> bool:
    if use.arguments is None or earlier.arguments is None:
        raise JudgeFailedError(
            f"The arguments of {printable(use.name)}, which was called again, were not recorded",
            kind="no_trajectory",
            on=case.id,
        )
    return (
        use.status == earlier.status
        and json_equal(use.arguments, earlier.arguments)
        and json_equal(use.result, earlier.result)
    )
