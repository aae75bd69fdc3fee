"""Evidence for a change of level in a growing history, valid at every look, by ranks alone.

One value is added per night. Without a change the nights are exchangeable: every order of their values is equally
probable, whatever their distribution, however they vary from night to night, and however the value of a night was
computed. Suppose that from night τ on values tend to be larger: their distribution function is the w-th power of the
former one (Lehmann, Annals of Mathematical Statistics 24:1, 1953). The order of n values then has the Plackett-Luce
probability

    P = Π over the values, largest first, of w_i / (sum of w_j over this value and all smaller ones),

with w_i = w from night τ on and 1 before. P · n! is a likelihood ratio against exchangeability. Leaving the newest
night out leaves the model intact (Luce's choice axiom), so the ratio is a martingale over the nights that begins at 1;
a mixture over τ and w with weights that add up to at most 1 is one too. It ever reaches 1/α with probability at most α
(Ville 1939), however many nights there are and however often the evidence is checked: an e-process (Ramdas, Grünwald,
Vovk & Shafer, Statistical Science 38:4, 2023; of change points: Shin, Ramdas & Rinaldo, E-detectors, New England
Journal of Statistics in Data Science 2:2, 2024; of ranks: Vovk, Testing randomness online, Statistical Science 36:4,
2021).

Night t (from 0) has half of the weight c / ((t + c − 1)(t + c)) with c = 20, which adds up to 1. The other half is kept
for nights before which something is known to have changed, such as the agent's version: 1 / (j·(j + 1)) of it for the
j-th. A weight may depend on anything that is known before its night is measured.

Nights that depend on each other, such as those of one slow week, are not exchangeable; the measured price is in
`docs/pages/how-to/watch-latency.md`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from .percentiles import FloatArray

STRENGTHS = (4.0, 16.0, 64.0)
"""Values of w: a value after the change exceeds one before it with probability w / (1 + w)."""
ALPHA = 0.05
_SPREAD = 20
_TIE_ORDERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvidence:
    """The evidence that values became larger at some night.

    Attributes:
        e_value: The e-process now: 1 at the beginning; 20 or more has at most 5 % probability without a change.
        shares: For each night from the second on, its share of the evidence for a change; they add up to 1.
    """

    e_value: float
    shares: tuple[float, ...]

    @property
    def night(self) -> int:
        """The most probable first night after the change, from 0."""
        return 1 + max(range(len(self.shares)), key=self.shares.__getitem__)

    def nights(self, share: float = 0.98) -> tuple[int, int]:
        """Return the first and the last night of the smallest set that holds this share of the evidence.

        With 98 % the set contained the true night in 96 to 98 % of simulated histories, with 95 % in 91 to 94 %.
        """
        total, chosen = 0.0, list[int]()
        for place in sorted(range(len(self.shares)), key=self.shares.__getitem__, reverse=True):
            chosen.append(place + 1)
            total += self.shares[place]
            if total >= share:
                break
        return min(chosen), max(chosen)


def change_evidence(values: Sequence[float], *, hints: Collection[int] = ()) -> ChangeEvidence:
    """Return the evidence that the values became larger; negate them to ask whether they became smaller.

    Args:
        values: One value per night, oldest first; at least two.
        hints: Nights (from 0) before which something is known to have changed.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"a change needs at least two nights, not {n}")
    weights = _weights(n, hints)
    ratios = _log_ratios(np.asarray(values, dtype=np.float64)) + np.log(weights)
    total = float(np.logaddexp.reduce(ratios))
    unused = max(0.0, 1.0 - float(weights.sum()))
    shares = np.exp(ratios - total)
    return ChangeEvidence(e_value=math.exp(min(700.0, total)) + unused, shares=tuple((shares / shares.sum()).tolist()))


def known_change_evidence(before: FloatArray, after: FloatArray) -> float:
    """Return the evidence that values after a given night are larger, as a log; see the module's text.

    Args:
        before: Values before that night.
        after: Values from that night on.
    """
    joined = np.concatenate([before, after])
    return float(_log_ratios(joined, only=before.size)[0])


def fewest_nights(needed: float = 1 / ALPHA) -> int:
    """Return the smallest number of nights in which a change can be detected.

    It is the number for the clearest change at the most favourable night.

    Args:
        needed: The evidence that is needed.
    """
    n = 4
    while max(change_evidence([0.01 * k + (k >= first) for k in range(n)]).e_value for first in range(2, n)) < needed:
        n += 1
    return n


def _weights(n: int, hints: Collection[int]) -> FloatArray:
    """Return the weight of each night from the second one."""
    nights = np.arange(1, n)
    weights = _SPREAD / ((nights + _SPREAD - 1.0) * (nights + _SPREAD)) / 2
    for place, night in enumerate(sorted(hint for hint in hints if 0 < hint < n), 1):
        weights[night - 1] += 1 / (2 * place * (place + 1))
    return weights


def _log_ratios(values: FloatArray, *, only: int | None = None) -> FloatArray:
    """Return the log of the mixture over w for each first night after the change, or for one.

    Equal values get random orders, which are fixed for each night: each is a martingale, and so is their mean.
    """
    n = values.size
    firsts = np.arange(1, n) if only is None else np.array([only])
    orders = [np.argsort(values, kind="stable")]
    if np.unique(values).size < n:
        orders = [np.lexsort((_tie_breaker(draw, n), values)) for draw in range(_TIE_ORDERS)]
    whole = math.lgamma(n + 1)
    # A logarithm costs far more than a product; one of 48 factors stays below 1e308 up to 30,000 nights.
    blocks = np.arange(0, n, 48)
    sums: list[FloatArray] = []
    for order in orders:
        later = np.cumsum(order[None, :] >= firsts[:, None], axis=1)
        ranks = np.arange(1.0, n + 1)
        for strength in STRENGTHS:
            products = np.multiply.reduceat(ranks + (strength - 1) * later, blocks, axis=1)
            logs = np.log(products).sum(axis=1)
            sums.append(whole + (n - firsts) * math.log(strength) - logs)
    return np.logaddexp.reduce(np.stack(sums), axis=0) - math.log(len(sums))


def _tie_breaker(draw: int, n: int) -> FloatArray:
    """Return a number for each night that stays the same as nights are added."""
    return np.random.Generator(np.random.PCG64(draw)).random(n)
