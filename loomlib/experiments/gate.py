"""A limit on a figure, decided on the figure's confidence interval: passed, missed, or unclear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR

from .conditions import StudyConditions

_AS_MEASURED = {
    PASSED: "the measured times would pass it",
    MISSED: "the measured times would miss it",
    UNCLEAR: "the measured times would not decide it either",
}


def overloaded_text(outcome: str, text: str) -> str:
    """Return the sentences of a gate that is unclear because of the machine's load.

    Args:
        outcome: What the gate would be without the load.
        text: Its sentence without the load, such as "Gate missed by 1.71 s: …".
    """
    evidence = text.removeprefix(f"Gate {outcome}")
    return f"Gate unclear: the machine was overloaded. Taken as they are, {_AS_MEASURED[outcome]}{evidence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyGate:
    """The verdict on a figure and its limit.

    A gate is missed only when the figure's whole 95 % interval is on the wrong side of the limit, or when every single
    measurement is, and passed when the interval is on the right side. Anything between is unclear, and so is a gate on
    times that an overloaded machine disturbed. A report or a command ends with 2 only when a gate is missed.

    Attributes:
        outcome: "passed", "missed" or "unclear".
        limit: The limit, in the figure's unit.
        figure: The figure with its interval.
        text: The verdict in a sentence.
        data: The verdict as JSON-ready values, without outcome and sentence.
    """

    outcome: str
    limit: float
    figure: Estimate
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def is_missed(self) -> bool:
        """True when the whole interval is on the wrong side of the limit."""
        return self.outcome == MISSED

    def under(self, conditions: StudyConditions) -> Self:
        """Return the gate with the machine's conditions applied: unclear when they disturbed the measured times."""
        if not conditions.is_disturbed:
            return self
        return replace(
            self,
            outcome=UNCLEAR,
            text=overloaded_text(self.outcome, self.text),
            data={**self.data, "outcome_without_disturbance": self.outcome},
        )

    def sentence(self) -> str:
        """Return the verdict in a sentence."""
        return self.text

    def summary(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready values."""
        return {"outcome": self.outcome, **self.data, "sentence": self.text}
