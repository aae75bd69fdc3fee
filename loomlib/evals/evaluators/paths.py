"""The trajectory against the expected one: EXACT, IN_ORDER, ANY_ORDER, and how many edits lie between the two."""

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
from .turn_by_turn import PASSED, Judged, Judgement, judge_turns

MATCHES: Final = ("EXACT", "IN_ORDER", "ANY_ORDER")
SPANS: Final = ("turns", "conversation")


def tools_known(case: EvalCase, tools: Sequence[ToolUse] | None, state: str) -> Sequence[ToolUse]:
    """The tools; not to know them is a failure to judge, never a zero."""
    if tools is None:
        why = f": {state}" if state else ""
        raise JudgeFailedError(
            f"Nobody knows which tools were used{why}",
            kind="no_trajectory",
            on=case.id,
            try_="export the agent's traces",
        )
    return tools


def tools_of_answer(case: EvalCase, answer: CaseAnswer) -> Sequence[ToolUse]:
    """The tools of all turns, or a failure to judge."""
    state = next((turn.tools_state for turn in answer.turns if turn.tools is None), "")
    return tools_known(case, answer.tools, state)


@dataclass(frozen=True, kw_only=True)
class PathJudgement(Judgement):
    """Compares each turn's tool calls with the expected ones.

    `arguments` True: they count, as the case states them; False: only names count; a mapping: fields that a matcher
    compares ({"date": "ignore"}). `over` says what is compared: the "turns" one by one (ADK), or the "conversation"
    with all that its turns expect (AgentCore). A case that expects tools of the whole conversation and of no turn
    (`session_tools`) is always compared so.
    """

    level: ClassVar[str] = "trajectory"
    needs_tools: ClassVar[bool] = True
    NOTHING: ClassVar[NotApplicable] = NotApplicable("the case expects nothing of the tools")

    arguments: Arguments = True
    over: str = "turns"

    def __post_init__(self) -> None:
        if self.over not in SPANS:
            raise ValueError(f"over is one of {', '.join(SPANS)}, not {self.over!r}")
        _ = self.matching

    @cached_property
    def matching(self) -> ToolMatching:
        """How one call is compared with an expected one."""
        return ToolMatching(self.arguments)

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """The score of one path."""
        raise TypeError(f"{type(self).__name__} compares no paths")

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Judged:
        """The mean over the turns that expect something of the tools; an empty expectation expects no call."""
        if self.over == "conversation" or case.has_session_tools_only:
            expected = case.expected_tools
            return self.NOTHING if expected is None else self.compare(expected, tools_of_answer(case, answer), case)

        def judge_turn(turn: Turn, given: TurnAnswer) -> Score | None:
            if turn.expected_tools is None:
                return None
            tools = given.tools
            if tools is None:
                tools = tools_known(case, tools, given.tools_state)
            return self.compare(turn.expected_tools, tools, case)

        return judge_turns(case, answer, judge_turn, self.passes, self.NOTHING)


@dataclass(frozen=True, kw_only=True)
class TrajectoryMatch(PathJudgement):
    """1 when the calls are the expected ones: EXACT (these, in this order, no other), IN_ORDER (these in this order,
    others between them), ANY_ORDER (these, others among them). Each expected call needs a call of its own, so a
    tool that is expected twice must be called twice. `extra=False` allows no others. The semantics are ADK's.
    """

    match: str = "EXACT"
    extra: bool = True

    def __post_init__(self) -> None:
        PathJudgement.__post_init__(self)
        match = self.match.upper()
        if match not in MATCHES:
            raise ValueError(f"match is one of {', '.join(MATCHES)}, not {self.match!r}")
        object.__setattr__(self, "match", match)

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """1 or 0; a 0 has the alignment in its details."""
        is_met, possible = _MET[self.match], self.extra or len(expected) == len(actual)
        if possible and is_met(expected, actual, self.matching, False):
            return PASSED
        if possible and is_met(expected, actual, self.matching, True):
            raise JudgeFailedError(
                "Nobody recorded the arguments of a call that may be the expected one",
                kind="no_trajectory",
                on=case.id,
                try_="arguments=False, or traces with their content",
            )
        found = align(expected, actual, arguments=self.matching)
        return self.score(0.0, found.sentence(), details={"alignment": found.table()})


def _exact(expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool) -> bool:
    if len(expected) != len(actual):
        return False
    return all(map(matching.fits, expected, actual, repeat(unknown)))


def _in_order(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool
) -> bool:
    """Taking the first call that fits leaves most calls to those after it, so this finds an order if there is one."""
    place = 0
    for came in actual:
        if place == len(expected):
            break
        if matching.fits(expected[place], came, unknown):
            place += 1
    return place == len(expected)


def _any_order(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], matching: ToolMatching, unknown: bool
) -> bool:
    if len(expected) > len(actual):
        return False
    met = assign(len(expected), len(actual), lambda i, j: matching.fits(expected[i], actual[j], unknown))
    return len(met) == len(expected)


_MET: Final[Mapping[str, Callable[[Sequence[ExpectedTool], Sequence[ToolUse], ToolMatching, bool], bool]]] = {
    "EXACT": _exact,
    "IN_ORDER": _in_order,
    "ANY_ORDER": _any_order,
}


@dataclass(frozen=True, kw_only=True)
class EditDistance(PathJudgement):
    """1 for the expected path, less for each call to insert, remove or replace: 1 - edits / the longer path."""

    def compare(self, expected: Sequence[ExpectedTool], actual: Sequence[ToolUse], case: EvalCase) -> Score:
        """Between 0 and 1; the alignment and the number of edits are in the details."""
        if self.matching.fits_all(expected, actual):
            return PASSED
        if any(use.arguments is None for use in actual) and self.matching.needs_arguments(expected):
            raise JudgeFailedError(
                "Nobody recorded the arguments", kind="no_trajectory", on=case.id, try_="arguments=False"
            )
        found = align(expected, actual, arguments=self.matching)
        details = {"edits": found.distance, "alignment": found.table()}
        return self.score(found.similarity, found.sentence(), details=details)
