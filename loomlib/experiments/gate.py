"""A limit on a figure, decided by the figure's confidence interval: passed, missed, or unclear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import MISSED, PASSED, UNCLEAR

from .conditions import StudyConditions

EXIT_CODES: Final = {PASSED: 0, UNCLEAR: 0, MISSED: 2}
"""Exit code by outcome. An unclear gate does not stop a build; its sentence says what is needed to decide it."""

_AS_MEASURED = {
    PASSED: "the measured times would pass it",
    MISSED: "the measured times would miss it",
    UNCLEAR: "the measured times would not decide it either",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The verdict on a figure of a study or of an evaluation, and its limit.

    A gate is missed only when the figure's whole 95 % interval is on the wrong side of the limit, or when every single
    measurement is, and passed when the interval is on the right side. Anything else is unclear, as is a gate on times
    that were measured on an overloaded machine. The exit code of a report or a command is 2 only when a gate is missed.

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
        """Whether the gate is missed."""
        return self.outcome == MISSED

    @property
    def exit_code(self) -> int:
        """2 when the gate is missed, else 0."""
        return EXIT_CODES[self.outcome]

    def under(self, conditions: StudyConditions) -> Self:
        """Return the gate with the machine's conditions applied: unclear when they disturbed the measured times."""
        if not conditions.is_disturbed:
            return self
        evidence = self.text.removeprefix(f"Gate {self.outcome}")
        return replace(
            self,
            outcome=UNCLEAR,
            text="Gate unclear: the machine was overloaded. Taken at face value, "
            f"{_AS_MEASURED[self.outcome]}{evidence}",
            data={**self.data, "outcome_without_disturbance": self.outcome},
        )

    def sentence(self) -> str:
        """Return the verdict in a sentence."""
        return self.text

    def summary(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready values."""
        return {"outcome": self.outcome, **self.data, "sentence": self.text}

    def __str__(self) -> str:
        return self.text


def exit_code(gates: Sequence[Gate]) -> int:
    """Return the exit code of a command after all gates: 2 when one is missed, else 0."""
    return max((gate.exit_code for gate in gates), default=0)
