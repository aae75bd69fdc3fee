"""What an agent answered to a case: text, tools, times, tokens; or why it did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .tool_use import ToolUse

FAILURE_STAGES: Final = ("answer", "judge")
"""Where a case can fail: the agent gave no answer, or an evaluator could not judge it. Neither is a low score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFailure:
    """Why there is no answer or no score: a state of its own, never a number.

    `kind` is a class of `loomlib.agents.FAILURES` for an answer ("throttle", "timeout", …), else what went wrong with
    the judge ("exception", "timeout", "malformed", "no_trajectory", "aws:<error code>", "budget"). `attempts` counts
    the tries, the first included.
    """

    stage: str
    kind: str
    message: str
    evaluator: str | None = None
    attempts: int = 1

    def __post_init__(self) -> None:
        if self.stage not in FAILURE_STAGES:
            raise ValueError(f"a case fails in {' or '.join(FAILURE_STAGES)}, not {self.stage!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What came back for one turn. What is not known is None.

    `tools` are the calls in the order in which they were made: an empty tuple when the agent used none, None when
    nobody knows (no trace was found; `tools_state` then says why, in the words of `loomlib.telemetry.TRACE_STATES`).
    Durations are milliseconds; `cost` is in US dollars; `model_calls` counts the calls of a model.
    """

    text: str
    tools: tuple[ToolUse, ...] | None = None
    tools_state: str = ""
    texts: tuple[str, ...] = ()
    duration_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    model_calls: int | None = None
    cost: float | None = None
    session_id: str = ""
    invocation_id: int | None = None
    trace_id: str = ""

    @property
    def tokens(self) -> int | None:
        """Both directions together."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAnswer:
    """All turns of one case, asked once. With a `failure` the turns that did come back are kept.

    `labels` stay beside every number of it ("simulated", …). `repeat` counts from 0. `state` is what the session held
    at the end, where the agent tells it. `attempts` counts how often it was asked (more than 1 only after throttling
    or transport failures).
    """

    turns: tuple[TurnAnswer, ...]
    failure: CaseFailure | None = None
    repeat: int = 0
    attempts: int = 1
    labels: tuple[str, ...] = ()
    state: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The last turn's answer, "" when there is none."""
        return self.turns[-1].text if self.turns else ""

    @property
    def tools(self) -> tuple[ToolUse, ...] | None:
        """The tools of all turns in order; None when those of one turn are not known."""
        if not self.turns:
            return None
        found: list[ToolUse] = []
        for turn in self.turns:
            if turn.tools is None:
                return None
            found.extend(turn.tools)
        return tuple(found)

    @property
    def tokens(self) -> int | None:
        """Of all turns; None when those of one turn are not known."""
        known = [turn.tokens for turn in self.turns]
        return None if not known or None in known else sum(each for each in known if each is not None)

    @property
    def duration_ms(self) -> float | None:
        """Of all turns together."""
        if len(self.turns) == 1:
            return self.turns[0].duration_ms
        known = [turn.duration_ms for turn in self.turns]
        return None if not known or None in known else sum(each for each in known if each is not None)

    @property
    def cost(self) -> float | None:
        """US dollars of all turns; None when that of one turn is not known."""
        if len(self.turns) == 1:
            return self.turns[0].cost
        known = [turn.cost for turn in self.turns]
        return None if not known or None in known else sum(each for each in known if each is not None)
