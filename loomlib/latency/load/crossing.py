"""The load at which the share of calls beyond a limit crosses the allowed share, from steps at several loads.

Near the crossing, the logit of the share is modelled as a straight line over the logarithm of the load. A few steps
determine its slope poorly, so the slope has a prior: log-normal, 2 to 32 in 95 % of cases. M/D/c and M/M/c have such
slopes near the loads that matter (14 for four workers of constant times at 84 % of their capacity); it is too steep
where a limit is nearly exceeded without any load (1.6 for eight workers of exponential times, p90 below 2.5 service
times). The prior of the crossing is flat. Its interval is that of the posterior distribution, computed on a grid.

Calls of a queue depend on each other, so the log-likelihood of independent calls is divided by the ratio of the
long-run variance of the residuals to their variance (a quasi-likelihood: McCullagh & Nelder, Generalized Linear Models,
2nd edition, 1989, §9), estimated with an initial monotone sequence (Geyer, Practical Markov Chain Monte Carlo,
Statistical Science 7:4, 1992).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

_FloatArray = NDArray[np.float64]

_SLOPE: Final = 8.0
_SLOPE_LOG_ERROR: Final = 0.7
_WIDEST: Final = 0.8
"""Half-width of the grid of crossings, as a logarithm: loads from 0.45 to 2.2 times the middle of the steps."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShareBatch:
    """Consecutive calls at one load.

    Attributes:
        load: The load.
        hits: Whether each call is beyond the limit, in the order of their starts.
    """

    load: float
    hits: NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Share of calls beyond the limit."""
        return float(self.hits.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCrossing:
    """Where a line crosses the allowed share.

    Attributes:
        load: The load.
        low: Lower end of its interval; None when the batches do not bound it.
        high: Upper end; None when the batches do not bound it.
    """

    load: float
    low: float | None
    high: float | None

    def is_within(self, tolerance: float) -> bool:
        """Return whether the interval's half-width is at most `tolerance`, a share of the load."""
        return self.low is not None and self.high is not None and self.high <= self.low * (1 + tolerance) ** 2


def fit_crossing(batches: Sequence[ShareBatch], allowed: float, confidence: float) -> LoadCrossing:
    """Return the crossing.

    Args:
        batches: Batches near the crossing, each with one call or more.
        allowed: The largest share that is allowed, above 0 and below 1.
        confidence: Probability that the crossing is in the interval.
    """
    loads = np.log([batch.load for batch in batches])
    centre = float(loads.mean())
    crossings = np.linspace(-_WIDEST, _WIDEST, 641)
    slopes = _SLOPE * np.exp(_SLOPE_LOG_ERROR * np.linspace(-2.5, 2.5, 21))
    prior = -0.5 * np.linspace(-2.5, 2.5, 21) ** 2
    logits = slopes[:, None, None] * ((loads - centre)[None, None, :] - crossings[None, :, None])
    logits += math.log(allowed / (1 - allowed))
    hits = np.array([batch.hits.sum() for batch in batches], dtype=np.float64)
    n = np.array([batch.hits.size for batch in batches], dtype=np.float64)
    likelihood = (hits * logits - n * np.logaddexp(0, logits)).sum(axis=2)
    slope, crossing = np.unravel_index(int((likelihood + prior[:, None]).argmax()), likelihood.shape)
    inflation = _inflation(batches, 1 / (1 + np.exp(-logits[slope, crossing])))
    posterior = likelihood / inflation + prior[:, None]
    density = np.exp(posterior - posterior.max()).sum(axis=0)
    cumulated = np.cumsum(density) / density.sum()

    tail = (1 - confidence) / 2
    low, middle, high = np.interp([tail, 0.5, 1 - tail], cumulated, crossings).tolist()
    return LoadCrossing(
        load=math.exp(centre + middle),
        # Where the density has not fallen at an end of the grid, the batches do not bound the crossing.
        low=math.exp(centre + low) if low > -_WIDEST + 0.02 else None,
        high=math.exp(centre + high) if high < _WIDEST - 0.02 else None,
    )


def _inflation(batches: Sequence[ShareBatch], fitted: _FloatArray) -> float:
    """Return the variance of a share over that of independent calls; at least 1.

    The residuals are those from the line, so that differences between steps at one load count, too.
    """
    longest = max(batch.hits.size for batch in batches)
    covariances = np.zeros(longest + longest % 2)
    for batch, share in zip(batches, fitted.tolist(), strict=True):
        residuals = (batch.hits - share) / math.sqrt(max(share * (1 - share), 1e-4))
        spectrum = np.fft.rfft(residuals, 2 * residuals.size)
        covariances[: residuals.size] += np.fft.irfft(np.abs(spectrum) ** 2, 2 * residuals.size)[: residuals.size]
    covariances /= sum(batch.hits.size for batch in batches)
    pairs = covariances.reshape(-1, 2).sum(axis=1)
    positive = pairs[: int(np.argmax(pairs <= 0))] if (pairs <= 0).any() else pairs
    return max(1.0, 2 * float(np.minimum.accumulate(positive).sum()) - float(covariances[0]))
