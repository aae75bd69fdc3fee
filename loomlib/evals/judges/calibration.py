"""A judge against people: how often it says what they say, and to which side it errs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomlib.statistics import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a judge's verdicts are worth, by human labels of the same answers.

    `confusion` counts (human, judge) pairs of passed and not passed. `sensitivity` is the share of answers that people
    pass which the judge passes, `specificity` that of failing ones which it fails. `bias` is the mean of judge minus
    human value: above 0 the judge is kind. `alpha` is Krippendorff's, of the values (interval); `kappa` Cohen's, of
    passed and not. Answers that only one of both judged are counted and left out.
    """

    n: int
    confusion: Mapping[tuple[bool, bool], int]
    agreement: Estimate
    sensitivity: Estimate
    specificity: Estimate
    kappa: Estimate
    alpha: Estimate
    bias: Estimate
    unjudged: int = 0
    unlabelled: int = 0
    disagreements: tuple[str, ...] = field(default=(), repr=False)

    def table(self) -> list[dict[str, Any]]:
        """One row a figure, ready for a DataFrame."""
        figures = {
            "agreement": self.agreement,
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "Cohen's kappa": self.kappa,
            "Krippendorff's alpha": self.alpha,
            "bias": self.bias,
        }
        return [
            {"figure": name, "value": each.value, "low": each.low, "high": each.high, "n": each.n, "text": str(each)}
            for name, each in figures.items()
        ]

    def sentence(self) -> str:
        """The outcome in words."""
        if self.agreement.value is None:
            return "No answer was judged by both."
        side = ""
        if self.bias.low is not None and self.bias.high is not None:
            side = ", and is too kind" if self.bias.low > 0 else ", and is too strict" if self.bias.high < 0 else ""
        return f"The judge agrees with people on {self.agreement.value:.0%} of {self.n} answers{side}."


def calibrate(
    judged: Mapping[str, float | bool], human: Mapping[str, float | bool], *, threshold: float = 0.5, seed: int = 0
) -> Calibration:
    """`judged` and `human` are values between 0 and 1 (or passed) by case id. Passing is `threshold` and above.

    >>> calibrate({"a": 1.0, "b": 0.0}, {"a": True, "b": True}).disagreements
    ('b',)
    """
    from loomlib.statistics import estimate_alpha, estimate_difference, estimate_kappa, estimate_share

    shared = [key for key in judged if key in human]
    mine = [float(judged[key]) for key in shared]
    theirs = [float(human[key]) for key in shared]
    if any(value != value for value in (*mine, *theirs)):
        raise ValueError("a label is a number or a bool: leave out what has none")
    passes = [value >= threshold for value in mine]
    wanted = [value >= threshold for value in theirs]
    confusion = Counter(zip(wanted, passes, strict=True))
    n = len(shared)
    return Calibration(
        n=n,
        confusion={(a, b): confusion[a, b] for a in (True, False) for b in (True, False)},
        agreement=estimate_share(confusion[True, True] + confusion[False, False], n),
        sensitivity=estimate_share(confusion[True, True], sum(wanted)),
        specificity=estimate_share(confusion[False, False], n - sum(wanted)),
        kappa=estimate_kappa(wanted, passes, seed=seed),
        alpha=estimate_alpha([mine, theirs], "interval", seed=seed),
        bias=estimate_difference([a - b for a, b in zip(mine, theirs, strict=True)]),
        unjudged=len(human) - n,
        unlabelled=len(judged) - n,
        disagreements=tuple(key for key, a, b in zip(shared, passes, wanted, strict=True) if a != b),
    )
