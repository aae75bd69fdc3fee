"""What judges an answer, and what it says: the protocol of an evaluator, its score, and "not applicable"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from .answers import CaseAnswer
    from .cases import EvalCase

LEVELS: Final = ("answer", "trajectory", "component", "session")
"""What is judged: the answer (AWS's TRACE), how it came about, each tool call (TOOL_CALL), the session (SESSION)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What an evaluator said of one case.

    `value` lies between 0 and 1 unless the evaluator says otherwise. `passed` is None for a score that has no bar.
    `details` are plain values (JSON): the alignment of a trajectory, a judge's votes. `labels` stay beside the number
    ("simulated judge"). `part` names what was judged when it is not the whole case ("turn 2", "call 3: get_weather").
    `tokens` and `cost` (US dollars) are what judging took, None when not known, 0 for an evaluator that asks nobody.
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
            raise ValueError("a score is a finite number: what cannot be judged is a CaseFailure")


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The case expects nothing that this evaluator could judge; it takes no part in the mean."""

    reason: str


Verdict: TypeAlias = "Score | NotApplicable | Sequence[Score] | bool | float"
"""What an evaluator may return: a bool passes or fails (1 or 0), a float is a score without a bar, several scores are
of parts. Raising is a failure to judge, which is kept as one."""


@runtime_checkable
class Evaluator(Protocol):
    """Judges an answer. `judge` may be a plain or an async method; a plain one is never run in the event loop's thread
    unless `is_quick`.

    `name` is a column's name. `digest` is a hash of all that its verdict depends on apart from the case and the answer
    (options, version): a stored score is used again only under the same one. `needs_tools` says that it cannot judge
    without the trajectory: a run then waits for traces, and an answer without one is a failure to judge, not a zero.
    """

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def needs_tools(self) -> bool: ...
    @property
    def is_quick(self) -> bool: ...

    def judge(self, case: EvalCase, answer: CaseAnswer, /) -> Any: ...
