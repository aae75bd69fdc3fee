"""Compare the trajectory with the expected one: EXACT, IN_ORDER, ANY_ORDER, or by edit distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import ClassVar, Final

from ..matching.alignment import align
from ..matching.assignment import assign
from ..matching.tool_matching import Arguments, ToolMatching
from ..values.answers import CaseAnswer, TurnAnswer
from ..values.cases import EvalCase, Turn
from ..values.evaluator import NotApplicable, Score
from ..values.judge_error import JudgeFailedError
from ..values.tool_use import ExpectedTool, ToolUse
from .turn_by_turn import BaseEvaluator, TurnScores, judge_turns

MATCHES: Final = ("EXACT", "IN_ORDER", "ANY_ORDER")
SPANS: Final = ("turns", "conversation")


def tools_known(case: EvalCase, tools: Sequence[ToolUse] | None, state: str) -> Sequence[ToolUse]:
    """Return a turn's tool calls; raise `JudgeFailedError` when they are unknown.

    Args:
        case: The case, for the error.
        tools: The calls, None when unknown.
        state: Why the calls are unknown, "" when the reason is unknown.

    Raises:
        JudgeFailedError: The calls are unknown ("no_trajectory"): a failure to judge, never a zero.
    """
    if tools is None:
        why = f": {state}" if state else ""
        raise JudgeFailedError(
            f"The tool calls are unknown{why}",
            kind="no_trajectory",
            on=case.id,
            try_="export the agent's traces",
        )
    return tools


def tools_of_answer(case: EvalCase, answer: CaseAnswer) -> Sequence[ToolUse]:
    """Return the tool calls of all turns; raise `JudgeFailedError` when they are unknown."""
    state = next((turn.tools_state for turn in answer.turns if turn.tools is None), "")
    return tools_known(case, answer.tools, state)


@dataclass(frozen=True, kw_only=True)
class TrajectoryEvaluator(BaseEvaluator):
    """Base of the evaluators that compare tool calls with the expected ones.

    A case with `session_tools` only, and no expected tools of single turns, is always compared over the conversation.

    Attributes:
        arguments: True to compare arguments as the case specifies, False to compare names only, or a mapping of fields
            to matchers, such as {"date": "ignore"}.
        over: Compare "turns" one by one (as ADK does), or the whole "conversation" (as AgentCore does).
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True
    NOTHING: ClassVar[NotApplicable] = NotApplicable("the case expects no particular tool calls")

    arguments: Arguments = True
    over: str = "turns"

    def __post_init__(self) -> None:
        if self.over not in SPANS:
            raise ValueError(f"over must be one of {', '.join(SPANS)}, not {self.over!r}")
        _ = self.matching

    @cached_property
    def matching(self) -> ToolMatching:
        """How one call is compared with an expected one."""
        return ToolMatching(self.arguments)

    @property
    def _version(self) -> int:
        return super()._version + (not isinstance(self.arguments, bool))

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """Return the score of one trajectory.

        Args:
            expected: The expected calls, in order.
            actual: The calls of the answer, in order.
            case: The case, for errors.
        """
        raise TypeError(f"{type(self).__name__} must implement compare()")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> TurnScores:
        """Return the mean over the turns with an expectation; an empty expectation expects no call."""
        if self.over == "conversation" or case.has_session_tools_only:
            expected = case.expected_tools
            return self.NOTHING if expected is None else self.compare(expected, tools_of_answer(case, answer), case)

        def judge_turn(turn: Turn, turn_answer: TurnAnswer) -> Score | None:
            if turn.expected_tools is None:
                return None
            tools = turn_answer.tools
            if tools is None:
                tools = tools_known(case, tools, turn_answer.tools_state)
            return self.compare(turn.expected_tools, tools, case)

        return judge_turns(case, answer, judge_turn, self.passes, self.NOTHING)


@dataclass(frozen=True, kw_only=True)
class TrajectoryMatch(TrajectoryEvaluator):
    """1 when the tool calls are the expected ones, else 0; the semantics are ADK's.

    Each expected call needs its own actual call: a tool that is expected twice must be called twice.

    Attributes:
        match: "EXACT" (these calls in this order and no others), "IN_ORDER" (these in this order, others between them)
            or "ANY_ORDER" (these in any order, others among them).
        extra: False to allow no other calls in any mode.
    """

    match: str = "EXACT"
    extra: bool = True

    def __post_init__(self) -> None:
        TrajectoryEvaluator.__post_init__(self)
        match = self.match.upper()
        if match not in MATCHES:
            raise ValueError(f"match must be one of {', '.join(MATCHES)}, not {self.match!r}")
        object.__setattr__(self, "match", match)

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """Return 1 or 0; the details of a 0 hold the alignment."""
        is_met, possible = _MET[self.match], self.extra or len(expected) == len(actual)
        if possible and is_met(expected, actual, self.matching, False):
            return self.full_score
        if possible and is_met(expected, actual, self.matching, True):
            raise JudgeFailedError(
                "The arguments of a call that could match were not recorded",
                kind="no_trajectory",
                on=case.id,
                try_="arguments=False, or traces that record content",
            )
        alignment = align(expected, actual, arguments=self.matching)
        return self.score(0.0, alignment.sentence(), details={"alignment": alignment.table()})


def _exact(expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool) -> bool:
    if len(expected) != len(actual):
        return False
    return all(map(matching.fits, expected, actual, repeat(unknown)))


def _in_order(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool
) -> bool:
    """Match greedily: taking the first call that fits leaves the most calls for the rest, so no match is missed."""
    position = 0
    for call in actual:
        if position == len(expected):
            break
        if matching.fits(expected[position], call, unknown):
            position += 1
    return position == len(expected)


def _any_order(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool
) -> bool:
    if len(expected) > len(actual):
        return False
    matched = assign(len(expected), len(actual), lambda i, j: matching.fits(expected[i], actual[j], unknown))
    return len(matched) == len(expected)


_MET: Final[Mapping[str, Callable[[Sequence[ExpectedTool], Sequence[ToolUse], ToolMatching, bool], bool]]] = {
    "EXACT": _exact,
    "IN_ORDER": _in_order,
    "ANY_ORDER": _any_order,
}


@dataclass(frozen=True, kw_only=True)
class EditDistance(TrajectoryEvaluator):
    """1 − edits ÷ length of the longer trajectory, where an edit inserts, removes or replaces a call."""

    VERSION: ClassVar[int] = 2

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """Return a value between 0 and 1; the details hold the alignment and the number of edits."""
        if self.matching.fits_all(expected, actual):
            return self.full_score
        if any(use.arguments is None for use in actual) and self.matching.needs_arguments(expected):
            raise JudgeFailedError(
                "The arguments were not recorded", kind="no_trajectory", on=case.id, try_="arguments=False"
            )
        alignment = align(expected, actual, arguments=self.matching)
        details = {"edits": alignment.distance, "alignment": alignment.table()}
        return self.score(alignment.similarity, alignment.sentence(), details=details)
