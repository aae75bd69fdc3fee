"""The least recall that is wanted, judged with its doubt: passed, missed, or unclear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loomlib.presentation.formats import percent, plural
from loomlib.statistics import MISSED, PASSED, Estimate, outcome_at_least

from .arms import Arm
from .summaries import ArmSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallGate:
    """How an arm's recall stands to the least that is wanted.

    `outcome` is "missed" only when the whole 95 % interval of the recall lies below `least`, "passed" when it lies at
    or above it, and "unclear" in between: a case is one fact of one life, so that a study of one life has few of them,
    a wide interval, and seldom decides. As with every gate of Loom, an unclear one is said and stops nothing: a report
    or a command ends with 0, and only a missed gate ends it with 2.
    """

    outcome: str
    arm: Arm
    least: float
    recall: Estimate

    @property
    def is_missed(self) -> bool:
        """True when the recall is too low beyond doubt."""
        return self.outcome == MISSED

    def sentence(self) -> str:
        """The verdict in a sentence."""
        if self.recall.value is None:
            few = f"{plural(self.recall.n, 'case')}, {self.recall.needed_n} needed"
            why = few if self.recall.needed_n else str(self.recall)
            return f"Gate unclear: the recall of “{self.arm}” is not known ({why}); more lives would tell."
        found = f"recall of “{self.arm}” {shown_share(self.recall)}, at least {percent(self.least)} is wanted"
        if self.outcome == MISSED:
            return f"Gate missed: {found}."
        return f"Gate passed: {found}." if self.outcome == PASSED else f"Gate unclear: {found}; more lives would tell."

    def summary(self) -> dict[str, object]:
        """The verdict as JSON-ready values."""
        return {
            "outcome": self.outcome,
            "arm": self.arm.key,
            "least": self.least,
            "recall": self.recall.summary(),
            "sentence": self.sentence(),
        }


def judge(summaries: Sequence[ArmSummary], least: float, arm: Arm | None) -> RecallGate:
    """The gate on `arm`; on the best arm with retrieval when none is named."""
    if not 0 < least <= 1:
        raise ValueError(f"the least recall is a share above 0, at most 1, not {least}")
    if arm is None:
        known = [each for each in summaries if each.arm.searches] or list(summaries)
        found = max(known, key=lambda each: -1.0 if each.recall.value is None else each.recall.value)
    else:
        found = next((each for each in summaries if each.arm == arm), None)
        if found is None:
            raise ValueError(f"{arm.key} is none of the study's arms: {', '.join(each.arm.key for each in summaries)}")
    return RecallGate(
        outcome=outcome_at_least(found.recall, least), arm=found.arm, least=least, recall=found.recall
    )  # fmt: skip


def share_or_count(estimate: Estimate, counts: tuple[int, int]) -> str:
    """The share with its interval; where there is none, how many of how many questions."""
    right, tried = counts
    return f"{right} of {tried}" if estimate.value is None and tried else shown_share(estimate)


def shown_share(estimate: Estimate) -> str:
    """`85 % [71–93 %]`, or why there is no number."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return str(estimate)
    low, high = (percent(each).removesuffix(" %") for each in (estimate.low, estimate.high))
    return f"{percent(estimate.value)} [{low}–{high} %]"
