"""An agent's answer to a case: text, tools, timings and tokens, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .cases import EvalCase
from .tool_use import ToolUse

FAILURE_STAGES: Final = ("answer", "judge")
"""Where a case can fail: the agent did not answer, or an evaluator could not judge. Neither is a score of 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFailure:
    """Why there is no answer or no score; excluded from averages and counted separately.

    Attributes:
        stage: "answer" or "judge".
        kind: For an answer, a class of `loomlib.agents.FAILURES` ("throttle", "timeout", …); for a judge "exception",
            "timeout", "malformed", "aws:<error code>" or another kind of `JudgeFailedError`.
        message: What happened.
        evaluator: The evaluator that failed; None for an answer.
        attempts: Number of attempts, the first included.
    """

    stage: str
    kind: str
    message: str
    evaluator: str | None = None
    attempts: int = 1

    def __post_init__(self) -> None:
        if self.stage not in FAILURE_STAGES:
            raise ValueError(f"stage must be {' or '.join(FAILURE_STAGES)}, not {self.stage!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """The answer to one turn; None marks what is unknown.

    Attributes:
        text: The answer.
        tools: The tool calls in order; empty when there were none, None when unknown (no trace was found,
            or spans of it are missing).
        tools_state: How the trace was found, one of `loomlib.telemetry.TRACE_STATES`.
        texts: Texts before the final answer.
        duration_ms: Duration of the whole request in ms.
        ttft_ms: Time to the first token in ms.
        input_tokens: Model input tokens.
        output_tokens: Model output tokens.
        model_calls: Number of model calls.
        cost: US dollars.
        session_id: The runtime session.
        invocation_id: The stored invocation.
        trace_id: The trace, "" when unknown.
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
        """Model tokens in both directions."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAnswer:
    """The answers to all turns of one case, in one repeat. A failed answer has the turns before the failure.

    Attributes:
        turns: The answers in order.
        failure: Why the case failed; None when it did not.
        repeat: The repeat, from 0.
        attempts: How many times the case was sent; more than 1 only after throttling or transport failures.
        labels: Provenance labels shown beside every number, such as `simulated`.
        state: The session's final state, where the agent reports it.
        metadata: Further plain values, such as the prompts of a simulated user.
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
        """The answer to the last turn, "" when there is none."""
        return self.turns[-1].text if self.turns else ""

    @property
    def tools(self) -> tuple[ToolUse, ...] | None:
        """The tool calls of all turns in order; None when those of a turn are unknown."""
        if not self.turns:
            return None
        tools: list[ToolUse] = []
        for turn in self.turns:
            if turn.tools is None:
                return None
            tools.extend(turn.tools)
        return tuple(tools)

    @property
    def tokens(self) -> int | None:
        """Model tokens of all turns; None when those of a turn are unknown."""
        counts = [turn.tokens for turn in self.turns]
        return None if not counts or None in counts else sum(value for value in counts if value is not None)

    @property
    def duration_ms(self) -> float | None:
        """Duration of all turns in ms; None when that of a turn is unknown."""
        if len(self.turns) == 1:
            return self.turns[0].duration_ms
        durations_ms = [turn.duration_ms for turn in self.turns]
        return (
            None
            if not durations_ms or None in durations_ms
            else sum(value for value in durations_ms if value is not None)
        )

    @property
    def cost(self) -> float | None:
        """US dollars of all turns; None when the cost of a turn is unknown."""
        if len(self.turns) == 1:
            return self.turns[0].cost
        costs = [turn.cost for turn in self.turns]
        return None if not costs or None in costs else sum(value for value in costs if value is not None)


def prompts_of(case: EvalCase, answer: CaseAnswer) -> list[str]:
    """Return the prompts turn by turn, including those of a simulated user."""
    simulated: Sequence[object] = answer.metadata.get("prompts") or ()
    return [turn.prompt for turn in case.turns] or [str(prompt) for prompt in simulated] or [case.prompt]
