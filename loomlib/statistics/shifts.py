"""The shift of values at a given night: the Hodges-Lehmann estimate, with an interval that is valid at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .changes import known_change_evidence
from .estimates import Estimate
from .percentiles import CONFIDENCE, FloatArray

SHIFT_METHOD = "Hodges-Lehmann shift, interval by inverting a rank-based e-process"


def estimate_shift(before: Sequence[float], after: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate by how much values from a given night on are larger than those before it.

    The estimate is the median of all differences (Hodges & Lehmann, Annals of Mathematical Statistics 34:2, 1963). The
    interval contains every shift that, subtracted from the later values, leaves too little evidence of a change in
    either direction (`known_change_evidence`, the mean of both directions); it is valid for any number of nights.

    Args:
        before: One value per night.
        after: One value per night.
        confidence: Probability that the interval contains the shift.

    Returns:
        The shift. Where there are too few nights to bound it, the lower end is −∞ and the upper end is marked open.
    """
    first, second = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    n = int(first.size + second.size)
    if not first.size or not second.size:
        return Estimate.missing("no nights to compare", n=n, confidence=confidence, method=SHIFT_METHOD, needed_n=2)
    differences = np.sort((second[:, None] - first[None, :]).ravel())
    value, limit = float(np.median(differences)), -math.log(1 - confidence)

    def is_rejected(shift: float) -> bool:
        return _both_directions(first, second - shift) >= limit

    low, _ = _end(differences[::-1], value, is_rejected)
    high, is_open = _end(differences, value, is_rejected)
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high if not is_open else float(differences[-1]), value),
        n=n,
        confidence=confidence,
        method=SHIFT_METHOD,
        open_above=is_open,
    )


def _both_directions(before: FloatArray, after: FloatArray) -> float:
    larger, smaller = known_change_evidence(before, after), known_change_evidence(-before, -after)
    return float(np.logaddexp(larger, smaller)) - math.log(2)


def _end(outward: FloatArray, value: float, is_rejected: Callable[[float], bool]) -> tuple[float, bool]:
    """Return the last difference, from the middle outward, beyond which shifts are rejected; infinite when none is.

    Between two neighbouring differences the ranks stay the same, so one shift between them decides for all.
    """
    direction = 1.0 if outward[-1] >= outward[0] else -1.0
    distinct = [float(value) for value in dict.fromkeys(outward.tolist())]
    inside = sum(1 for difference in distinct if direction * (difference - value) <= 0) - 1
    probes = [
        (distinct[place] + distinct[place + 1]) / 2 if place + 1 < len(distinct) else distinct[-1] + direction
        for place in range(len(distinct))
    ]
    if not is_rejected(probes[-1]):
        return direction * math.inf, True
    outside = len(distinct) - 1
    if inside < 0 or is_rejected(probes[inside]):
        return value, False
    while outside - inside > 1:
        middle = (inside + outside) // 2
        inside, outside = (inside, middle) if is_rejected(probes[middle]) else (middle, outside)
    return distinct[outside], False
