"""Compare a judge with human labels: how often they agree, and in which direction the judge errs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from loomlib.presentation.formats import percent

if TYPE_CHECKING:
    from loomlib.statistics import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Agreement of a judge's verdicts with human labels of the same answers.

    Answers that were judged by only one of the two are counted separately and left out.

    Attributes:
        n: Answers with a verdict and a label.
        confusion: Counts of (human, judge) pairs of passed and not passed.
        agreement: Share of answers on which both agree.
        sensitivity: Share of the answers passed by people that the judge also passes.
        specificity: Share of the answers failed by people that the judge also fails.
        kappa: Cohen's kappa of passed and not passed.
        alpha: Krippendorff's alpha of the values (interval level).
        bias: Mean of judge minus human value; above 0 the judge is lenient.
        unjudged: Labelled answers without a verdict.
        unlabelled: Answers with a verdict but without a label.
        disagreements: Case ids on which they disagree.
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
        """Return one row for each figure, ready for a DataFrame."""
        figures = {
            "agreement": self.agreement,
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "Cohen's kappa": self.kappa,
            "Krippendorff's alpha": self.alpha,
            "bias": self.bias,
        }
        return [
            {
                "figure": name,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "text": str(estimate),
            }
            for name, estimate in figures.items()
        ]

    def sentence(self) -> str:
        """Summarize the agreement in one sentence."""
        if self.agreement.value is None:
            return "No answer has both a verdict and a human label."
        side = ""
        if self.bias.low is not None and self.bias.high is not None:
            side = " and is too lenient" if self.bias.low > 0 else " and is too strict" if self.bias.high < 0 else ""
        return f"The judge agrees with the human labels on {percent(self.agreement.value)} of {self.n} answers{side}."


def calibrate(
    judged: Mapping[str, float | bool], human: Mapping[str, float | bool], *, threshold: float = 0.5, seed: int = 0
) -> Calibration:
    """Compare a judge's verdicts with human labels.

    Args:
        judged: The judge's values (0 to 1, or passed) by case id.
        human: The human values (0 to 1, or passed) by case id.
        threshold: Minimum value that passes.
        seed: Seed of the bootstrap intervals.

    Raises:
        ValueError: A value is neither a number nor a bool.

    Examples:
        >>> calibrate({"a": 1.0, "b": 0.0}, {"a": True, "b": True}).disagreements
        ('b',)
    """
    from loomlib.statistics import estimate_alpha, estimate_difference, estimate_kappa, estimate_share

    shared = [key for key in judged if key in human]
    judge_values = [_number(judged[key], key) for key in shared]
    human_values = [_number(human[key], key) for key in shared]
    judge_passes = [value >= threshold for value in judge_values]
    human_passes = [value >= threshold for value in human_values]
    confusion = Counter(zip(human_passes, judge_passes, strict=True))
    n = len(shared)
    return Calibration(
        n=n,
        confusion={(a, b): confusion[a, b] for a in (True, False) for b in (True, False)},
        agreement=estimate_share(confusion[True, True] + confusion[False, False], n),
        sensitivity=estimate_share(confusion[True, True], sum(human_passes)),
        specificity=estimate_share(confusion[False, False], n - sum(human_passes)),
        kappa=estimate_kappa(human_passes, judge_passes, seed=seed),
        alpha=estimate_alpha([judge_values, human_values], "interval", seed=seed),
        bias=estimate_difference([a - b for a, b in zip(judge_values, human_values, strict=True)]),
        unjudged=len(human) - n,
        unlabelled=len(judged) - n,
        disagreements=tuple(key for key, a, b in zip(shared, judge_passes, human_passes, strict=True) if a != b),
    )


def _number(value: object, case_id: str) -> float:
    try:
        number = float(cast("float", value))
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or math.isnan(number):
        raise ValueError(
            f"a label must be a number or a bool, not {value!r} (case {case_id!r}); leave out cases without one"
        )
    return number
