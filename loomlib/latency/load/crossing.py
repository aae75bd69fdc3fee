"""The load at which the share of calls beyond a limit crosses what is allowed, from steps at several loads.

The logit of the share is taken as a straight line over the logarithm of the load, near the crossing; the line is fitted
by quasi-likelihood, whose variance the spread between steps gives (McCullagh & Nelder, Generalized Linear Models, 2nd
edition, 1989, §4.5 and §9.2), and the crossing's standard error follows by the delta method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RIDGE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBatch:
    """Consecutive calls at one load.

    Attributes:
        load: The load.
        hits: Calls beyond the limit.
        n: Calls.
    """

    load: float
    hits: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCrossing:
    """Where a line crosses the allowed share.

    Attributes:
        load: The load.
        log_error: Standard error of its logarithm.
    """

    load: float
    log_error: float


def fit_crossing(batches: Sequence[ShareBatch], allowed: float) -> LoadCrossing | None:
    """Return the crossing; None when the batches do not show a share that grows with the load.

    Args:
        batches: Batches at two loads or more, those near the crossing.
        allowed: The largest share that is allowed, above 0 and below 1.
    """
    if len({batch.load for batch in batches}) < 2:
        return None
    loads = np.log([batch.load for batch in batches])
    centre = float(loads.mean())
    design = np.column_stack([np.ones(loads.size), loads - centre])
    # Half a call more on each side keeps the line finite where one load has no hit and the next has only hits.
    n = np.array([batch.n + 1.0 for batch in batches])
    shares = np.array([batch.hits + 0.5 for batch in batches]) / n
    weights, line = np.zeros(n.size), np.array([math.log(allowed / (1 - allowed)), 1.0])
    for _ in range(50):
        fitted = 1 / (1 + np.exp(-np.clip(design @ line, -30, 30)))
        weights = n * fitted * (1 - fitted) + _RIDGE
        gradient = design.T @ (n * (shares - fitted))
        change = np.linalg.solve(design.T @ (design * weights[:, None]) + _RIDGE * np.eye(2), gradient)
        line = line + np.clip(change, -5, 5)
        if float(np.abs(change).max()) < 1e-9:
            break
    level, slope = float(line[0]), float(line[1])
    if slope <= 0:
        return None
    fitted = 1 / (1 + np.exp(-np.clip(design @ line, -30, 30)))
    spread = float((n * (shares - fitted) ** 2 / np.maximum(fitted * (1 - fitted), 1e-6)).sum()) / max(1, n.size - 2)
    covariance = np.linalg.inv(design.T @ (design * weights[:, None]) + _RIDGE * np.eye(2)) * max(1.0, spread)
    at = (math.log(allowed / (1 - allowed)) - level) / slope
    by = np.array([-1 / slope, -at / slope])
    error = math.sqrt(max(0.0, float(by @ covariance @ by)))
    if not (math.isfinite(at) and math.isfinite(error)) or abs(at) > 20:
        return None
    return LoadCrossing(load=math.exp(at + centre), log_error=error)
