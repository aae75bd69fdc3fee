"""Scales: the verdicts that a judge may give, with their meanings and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Verdicts from worst to best.

    Attributes:
        name: The scale's name.
        steps: (label, value between 0 and 1, meaning) from worst to best.
        bar: Minimum value that passes, unless a judge has its own threshold.
    """

    name: str
    steps: tuple[tuple[str, float, str], ...]
    bar: float

    def __post_init__(self) -> None:
        values = [value for _, value, _ in self.steps]
        if len(self.steps) < 2 or values != sorted(values) or len({label for label, _, _ in self.steps}) < len(values):
            raise ValueError("a scale needs two or more different labels, from worst to best")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels from worst to best."""
        return tuple(label for label, _, _ in self.steps)

    @property
    def values(self) -> Mapping[str, float]:
        """The value of each label."""
        return {label: value for label, value, _ in self.steps}

    def explained(self) -> str:
        """Return one line for each label, for the judge's prompt."""
        return "\n".join(f"- {label}: {meaning}" for label, _, meaning in self.steps)


BINARY: Final = Scale(
    name="binary",
    steps=(("no", 0.0, "the criterion is not met"), ("yes", 1.0, "the criterion is met")),
    bar=1.0,
)
FIVE: Final = Scale(
    name="five",
    steps=(
        ("1", 0.0, "fails the criterion"),
        ("2", 0.25, "meets little of it"),
        ("3", 0.5, "meets about half of it"),
        ("4", 0.75, "meets it with a small lapse"),
        ("5", 1.0, "meets it fully"),
    ),
    bar=0.75,
)
CORRECTNESS: Final = Scale(
    name="correctness",
    steps=(
        ("incorrect", 0.0, "contradicts the golden answer, or lacks what matters in it"),
        ("partly_correct", 0.5, "has a part of what matters and contradicts none of it"),
        ("correct", 1.0, "says what the golden answer says, in whatever words"),
    ),
    bar=1.0,
)
SCALES: Final[Mapping[str, Scale]] = {scale.name: scale for scale in (BINARY, FIVE, CORRECTNESS)}
"""The scales by name."""
