"""Each tool call judged alone: chosen well, arguments right, result right, no error, in time."""

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
from .turn_by_turn import Judged, Judgement

CHECKS: Final = ("chosen", "arguments", "result", "status", "time")
"""Expected at all; with these arguments; giving this result; without an error; within the limit."""


@dataclass(frozen=True, kw_only=True)
class ToolCalls(Judgement):
    """A part for each call: the share of its checks that it passes; the whole is the calls' mean.

    `checks` are those of `CHECKS` to make. One takes no part where nothing is known or expected: "chosen",
    "arguments" and "result" need the case's expectation, "status" needs a status, "time" a limit (`time_limit_ms`, of
    one tool by name or of all) and the call's duration. `arguments` says how they are compared, as in `trajectory`.
    A call that is expected and was not made is no call: that is for `trajectory` to say.
    """

    level: ClassVar[str] = "component"
    needs_tools: ClassVar[bool] = True

    checks: tuple[str, ...] = CHECKS
    arguments: Arguments = True
    time_limit_ms: float | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if unknown := [each for each in self.checks if each not in CHECKS]:
            raise ValueError(f"checks are {', '.join(CHECKS)}, not {', '.join(unknown)}")
        _ = self._matching

    @cached_property
    def _matching(self) -> ToolMatching:
        return ToolMatching(self.arguments)

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Judged:
        """The whole and one part a call; not applicable without a call, or when nothing can be checked."""
        parts: list[Score] = []
        place = 0
        whole = self._of_session(case, answer)
        for number, turn in enumerate(answer.turns):
            tools = tools_known(case, turn.tools, turn.tools_state)
            expected = case.turns[number].expected_tools if number < len(case.turns) else None
            partners = {} if expected is None else self._partners(expected, tools)
            if whole is not None:
                expected = case.session_tools
                partners = {index: whole[place + index] for index in range(len(tools)) if place + index in whole}
            for index, use in enumerate(tools):
                place += 1
                verdicts = self._verdicts(use, None if expected is None else partners.get(index, _NOT_EXPECTED))
                if verdicts:
                    parts.append(self._part(place, use, verdicts))
        if not parts:
            return NotApplicable("no tool was called" if not place else "nothing is known or expected of the calls")
        value = sum(part.value for part in parts) / len(parts)
        wrong = [part for part in parts if part.value < 1]
        rationale = f"{len(wrong)} of {len(parts)} calls: {wrong[0].part}: {wrong[0].rationale}" if wrong else ""
        return [self.score(value, rationale), *parts]

    def _of_session(self, case: EvalCase, answer: CaseAnswer) -> dict[int, ExpectedTool] | None:
        """The expected call of each, by its place in the conversation, where nothing is expected of single turns."""
        if not case.has_session_tools_only or answer.tools is None:
            return None
        return self._partners(case.session_tools or (), answer.tools)

    def _partners(self, expected: Sequence[ExpectedTool], tools: Sequence[ToolUse]) -> dict[int, ExpectedTool]:
        """The expected call of each: first those that fit altogether, then those of the same tool."""
        found = assign(len(expected), len(tools), lambda i, j: self._matching.fits(expected[i], tools[j], True))
        left = [i for i in range(len(expected)) if i not in found]
        free = sorted(set(range(len(tools))) - set(found.values()))
        named = assign(len(left), len(free), lambda i, j: expected[left[i]].name == tools[free[j]].name)
        pairs = [*found.items(), *((left[i], free[j]) for i, j in named.items())]
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
        return {each: verdicts[each] for each in self.checks if each in verdicts}

    def _part(self, place: int, use: ToolUse, verdicts: Mapping[str, bool]) -> Score:
        wrong = [_WORDS[each] for each, fits in verdicts.items() if not fits]
        rationale = f"{call_text(use.name, use.arguments)}: {', '.join(wrong)}" if wrong else ""
        value = sum(verdicts.values()) / len(verdicts)
        return self.score(value, rationale, part=f"call {place}: {printable(use.name)[:100]}", details=dict(verdicts))


_NOT_EXPECTED: Final = ExpectedTool(name="(not expected)")
_WORDS: Final[Mapping[str, str]] = {
    "chosen": "not expected here",
    "arguments": "other arguments than expected",
    "result": "another result than expected",
    "status": "it failed",
    "time": "it took too long",
}
