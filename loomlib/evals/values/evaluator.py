"""The protocol of an evaluator and what it may return: scores, or "not applicable"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from .answers import CaseAnswer
from .cases import EvalCase

LEVELS: Final = ("answer", "trajectory", "component", "session")
"""What an evaluator judges, with AgentCore's levels: the answer (TRACE), the trajectory, each tool call (component,
TOOL_CALL), or the session (SESSION)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score that an evaluator gave one case.

    Attributes:
        value: Between 0 and 1, unless the evaluator documents another range.
        passed: Whether the value reaches the evaluator's threshold; None for a score without a threshold.
        rationale: Why, in one or a few sentences.
        part: What was judged when it is not the whole case, such as "turn 2" or "call 3: get_weather".
        details: JSON values, such as the alignment of a trajectory or the votes of several judges.
        labels: Provenance labels shown beside the number, such as "simulated judge".
        tokens: Tokens used for judging, None when unknown, 0 for an evaluator that calls no model.
        cost: US dollars spent on judging, None when unknown, 0 for an evaluator that calls no model.
    """

    value: float
    passed: bool | None = None
    rationale: str = ""
    part: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    labels: tuple[str, ...] = ()
    tokens: int | None = 0
    cost: float | None = 0.0

    def __post_init__(self) -> None:
        if self.value != self.value or self.value in (float("inf"), float("-inf")):
            raise ValueError("a score must be a finite number; report a case that cannot be judged as a CaseFailure")


def reaches(value: float, threshold: float) -> bool:
    """Return whether a value is at least the threshold, apart from rounding errors of floats such as 1 - 0.8 < 0.2."""
    return value >= threshold or math.isclose(value, threshold, rel_tol=1e-12)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The case expects nothing that this evaluator could judge; it is excluded from the mean."""

    reason: str


Verdict: TypeAlias = "Score | NotApplicable | Sequence[Score] | bool | float"
"""What an evaluator may return: a bool passes or fails (1 or 0), a float is a score without a threshold, several scores
are scores of parts. An exception is recorded as a failure to judge."""


@runtime_checkable
class Evaluator(Protocol):
    """Judges an answer.

    `judge` may be a plain or an async method; a plain one never runs in the event loop's thread unless `is_quick`.

    Attributes:
        name: Name of the score column.
        level: One of `LEVELS`.
        digest: Hash of everything that the verdict depends on apart from the case and the answer (options, version). A
            stored score is reused only under the same digest.
        needs_tools: Whether judging needs the trajectory. A run then waits for traces, and an answer without one is a
            failure to judge, not a zero.
        is_quick: Whether `judge` may run in the event loop's thread.
    """

    @property
    def name(self) -> str:
        """Name of the score column."""
        ...

    @property
    def level(self) -> str:
        """What is judged: one of `LEVELS`."""
        ...

    @property
    def digest(self) -> str:
        """Hash of everything that the verdict depends on apart from the case and the answer."""
        ...

    @property
    def needs_tools(self) -> bool:
        """Whether judging needs the trajectory."""
        ...

    @property
    def is_quick(self) -> bool:
        """Whether `judge` may run in the event loop's thread."""
        ...

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Any:
        """Judge the answer to one case; see `Verdict` for the possible return values."""
        ...
