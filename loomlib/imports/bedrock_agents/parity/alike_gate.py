"""The gate on the share of cases that behave alike, decided on its whole confidence interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from loomlib.experiments import Gate
from loomlib.presentation.formats import number, percent, plural
from loomlib.statistics.estimates import Estimate
from loomlib.statistics.gates import PASSED, UNCLEAR, decide_at_least
from loomlib.statistics.percentiles import CONFIDENCE
from loomlib.statistics.rates import estimate_rate

from .judged_pairs import ALIKE, JudgedPair

LEAST_ALIKE: Final = 0.95
"""Default minimum share of cases that must behave alike."""
_MOST: Final = 10_000
_Z: Final = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeShare:
    """The share of pairs that behave alike.

    Attributes:
        estimate: The share with its interval; each case counts once, with the share of its repeats.
        alike: Number of pairs that behave alike.
        judged: Number of pairs with a verdict.
        cases: Number of cases with at least one such pair.
        without: Number of pairs without a verdict, because an agent or an evaluator failed.
        noun: The unit to which the pairs of one case belong: "case", or "session" for shadow traffic.
    """

    estimate: Estimate
    alike: int
    judged: int
    cases: int
    without: int
    noun: str = "case"

    @property
    def is_repeated(self) -> bool:
        """Whether a case has several pairs."""
        return self.judged > self.cases

    def text(self) -> str:
        """Return the share in words: `118 of 120 answers judged equal (95 % interval 94–100 %)`."""
        counted = f"{number(self.alike, 0)} of {plural(self.judged, 'answer')} judged equal"
        repeats = f" on {plural(self.cases, self.noun)}" if self.is_repeated else ""
        if not self.estimate.is_known:
            return f"{counted}{repeats} ({self.estimate.reason})"
        return f"{counted}{repeats} (95 % interval {self.estimate.interval_text('share')} %)"


def alike_share(judged: Sequence[JudgedPair], *, noun: str = "case") -> AlikeShare:
    """Return the share of pairs that behave alike.

    Args:
        judged: The pairs with their verdicts; those without one are counted and left out.
        noun: The unit to which the pairs of one case belong.
    """
    decided = [item for item in judged if item.is_judged]
    tries = Counter(item.pair.case.id for item in decided)
    passes = Counter(item.pair.case.id for item in decided if item.state == ALIKE)
    return AlikeShare(
        estimate=estimate_rate([passes[id] for id in tries], list(tries.values())),
        alike=sum(passes.values()),
        judged=len(decided),
        cases=len(tries),
        without=len(judged) - len(decided),
        noun=noun,
    )


def alike_gate(share: AlikeShare, least: float = LEAST_ALIKE) -> Gate:
    """Decide whether the successor behaves like the old agent.

    Passed when the whole interval of the share is at or above the limit, missed when it is below or when no pair is
    alike; else unclear. A gate that would pass is unclear when pairs without a verdict could reverse it.

    Args:
        share: The share.
        least: The minimum share, 0 to 1.
    """
    estimate = share.estimate
    values = [1.0] * share.alike + [0.0] * (share.judged - share.alike)
    decision = decide_at_least(estimate, least, values)
    outcome, more = decision.outcome, None
    word = f"gate {percent(least)}: {outcome}"
    if decision.is_missed_by_all:
        text = f"{word}, no answer is judged equal"
    elif outcome == UNCLEAR and not share.judged:
        text = f"{word}, nothing could be judged"
    elif outcome == UNCLEAR:
        more = more_cases(share, least)
        text = f"{word}, {_advice(more, share)}"
    elif outcome == PASSED and _could_reverse(share, least):
        outcome = UNCLEAR
        text = f"gate {percent(least)}: unclear, {plural(share.without, 'answer')} without a verdict could reverse it"
    else:
        text = word
    return Gate(
        outcome=outcome,
        limit=least,
        figure=estimate,
        text=f"Behaves like the old agent: {share.text()}; {text}.",
        data={
            "limit": least,
            "estimate": estimate.summary(),
            "alike": share.alike,
            "judged": share.judged,
            "cases": share.cases,
            "without_verdict": share.without,
            "more_cases": more,
        },
    )


def more_cases(share: AlikeShare, least: float) -> int | None:
    """Return the approximate number of further cases that decide an unclear gate if the share does not change.

    Wilson's interval of a share p excludes the limit L with n = z²·L·(1 − L) / (p − L)² or more independent trials. The
    number of independent trials per case with repeats is derived from the current interval in the same way.

    Args:
        share: The share.
        least: The limit.

    Returns:
        The number, None if it exceeds 10,000.
    """
    if not share.judged:
        return None
    rate = share.alike / share.judged if share.estimate.value is None else share.estimate.value
    if rate == least:
        return None
    needed = _tries_to_exclude(least, rate) / _independent_tries(share, rate) * share.cases
    return max(1, math.ceil(needed - 1e-9) - share.cases) if needed <= _MOST else None


def _tries_to_exclude(bound: float, rate: float) -> float:
    return _Z**2 * bound * (1 - bound) / (rate - bound) ** 2


def _independent_tries(share: AlikeShare, rate: float) -> float:
    low = share.estimate.low
    if not share.is_repeated or low is None or not 0 < low < rate < 1:
        return float(share.cases)
    return _tries_to_exclude(low, rate)


def _advice(more: int | None, share: AlikeShare) -> str:
    if more is None:
        return f"the share is too close to the limit: more than {plural(_MOST, share.noun)} are needed"
    decide = "decides" if more == 1 else "decide"
    return f"about {plural(more, f'more {share.noun}')} {decide} it (there are {number(share.cases, 0)})"


def _could_reverse(share: AlikeShare, least: float) -> bool:
    low = share.estimate.low
    due = share.judged + share.without
    return low is not None and bool(share.without) and low * share.judged / due < least
