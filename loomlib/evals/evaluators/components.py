"""Judge each tool call separately: tool, arguments, result, status and duration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from ..matching.assignment import assign
from ..matching.matchers import json_equal
from ..matching.tool_matching import Arguments, ToolMatching, call_text, printable
from ..values.answers import CaseAnswer
from ..values.cases import EvalCase
from ..values.evaluator import NotApplicable, Score
from ..values.tool_use import ExpectedTool, ToolUse
from .paths import tools_known
from .turn_by_turn import BaseEvaluator, TurnScores

CHECKS: Final = ("chosen", "arguments", "result", "status", "time")
"""The call is expected; has the expected arguments; returned the expected result; did not fail; met the time limit."""


@dataclass(frozen=True, kw_only=True)
class ToolCalls(BaseEvaluator):
    """Scores each call by the share of its checks that pass; the score of the case is the mean over the calls.

    A check is skipped when the values that it needs are missing: "chosen", "arguments" and "result" need the case's
    expectation, "status" needs a status, "time" a limit and the call's duration. An expected call that was never made
    is judged by `trajectory`, not here.

    Attributes:
        checks: The checks to perform, a subset of `CHECKS`.
        arguments: How arguments are compared, as in `trajectory`.
        time_limit_ms: Time limit of a call in milliseconds, for all tools or by the tool's name.
    """

    level: ClassVar[str] = "component"
    needs_tools: ClassVar[bool] = True

    checks: tuple[str, ...] = CHECKS
    arguments: Arguments = True
    time_limit_ms: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if unknown := [check for check in self.checks if check not in CHECKS]:
            raise ValueError(f"checks must be among {', '.join(CHECKS)}, not {', '.join(unknown)}")
        _ = self._matching

    @cached_property
    def _matching(self) -> ToolMatching:
        return ToolMatching(self.arguments)

    @property
    def _version(self) -> int:
        return super()._version + (not isinstance(self.arguments, bool))

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> TurnScores:
        """Return the score of the case and one part for each call.

        Not applicable when the agent called no tool, or when no check applies.
        """
        parts: list[Score] = []
        position = 0
        whole = self._of_session(case, answer)
        for number, turn in enumerate(answer.turns):
            tools = tools_known(case, turn.tools, turn.tools_state)
            expected = case.turns[number].expected_tools if number < len(case.turns) else None
            partners = {} if expected is None else self._partners(expected, tools)
            if whole is not None:
                expected = case.session_tools
                partners = {index: whole[position + index] for index in range(len(tools)) if position + index in whole}
            for index, use in enumerate(tools):
                position += 1
                verdicts = self._verdicts(use, None if expected is None else partners.get(index, _NOT_EXPECTED))
                if verdicts:
                    parts.append(self._part(position, use, verdicts))
        if not parts:
            return NotApplicable("the agent called no tool" if not position else "no check applies to the calls")
        value = sum(part.value for part in parts) / len(parts)
        wrong = [part for part in parts if part.value < 1]
        rationale = f"{len(wrong)} of {len(parts)} calls: {wrong[0].part}: {wrong[0].rationale}" if wrong else ""
        return [self.score(value, rationale), *parts]

    def _of_session(self, case: EvalCase, answer: CaseAnswer) -> dict[int, ExpectedTool] | None:
        """Match the conversation's calls to expected calls, by position, when only the session states expectations."""
        if not case.has_session_tools_only or answer.tools is None:
            return None
        return self._partners(case.session_tools or (), answer.tools)

    def _partners(self, expected: Sequence[ExpectedTool], tools: Sequence[ToolUse]) -> dict[int, ExpectedTool]:
        """Match calls to expected calls, by position: exact matches first, then calls of the same tool."""
        matched = assign(len(expected), len(tools), lambda i, j: self._matching.fits(expected[i], tools[j], True))
        unmatched = [i for i in range(len(expected)) if i not in matched]
        free = sorted(set(range(len(tools))) - set(matched.values()))
        same_tool = assign(len(unmatched), len(free), lambda i, j: expected[unmatched[i]].name == tools[free[j]].name)
        pairs = [*matched.items(), *((unmatched[i], free[j]) for i, j in same_tool.items())]
        return {j: expected[i] for i, j in pairs}

    def _verdicts(self, use: ToolUse, partner: ExpectedTool | None) -> dict[str, bool]:
        verdicts: dict[str, bool] = {}
        if partner is not None:
            verdicts["chosen"] = partner is not _NOT_EXPECTED
        if partner is not None and partner is not _NOT_EXPECTED:
            if self._matching.needs_arguments((partner,)) and use.arguments is not None:
                verdicts["arguments"] = self._matching.fits(partner, use)
            if partner.result is not None and use.result is not None:
                verdicts["result"] = json_equal(partner.result, use.result)
        if use.status:
            verdicts["status"] = use.status != "error"
        limit = self.time_limit_ms.get(use.name) if isinstance(self.time_limit_ms, Mapping) else self.time_limit_ms
        if limit is not None and use.duration_ms is not None:
            verdicts["time"] = use.duration_ms <= limit
        return {check: verdicts[check] for check in self.checks if check in verdicts}

    def _part(self, position: int, use: ToolUse, verdicts: Mapping[str, bool]) -> Score:
        wrong = [_MESSAGES[check] for check, passed in verdicts.items() if not passed]
        rationale = f"{call_text(use.name, use.arguments)}: {', '.join(wrong)}" if wrong else ""
        value = sum(verdicts.values()) / len(verdicts)
        return self.score(
            value, rationale, part=f"call {position}: {printable(use.name)[:100]}", details=dict(verdicts)
        )


_NOT_EXPECTED: Final = ExpectedTool(name="(not expected)")
_MESSAGES: Final[Mapping[str, str]] = {
    "chosen": "the call was not expected",
    "arguments": "the arguments differ from the expected ones",
    "result": "the result differs from the expected one",
    "status": "the call failed",
    "time": "the call exceeded its time limit",
}
