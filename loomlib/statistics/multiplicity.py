"""Adjusted p-values for many tests at once; each can be compared with the usual 5 %."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values by Holm's step-down procedure (Scandinavian Journal of Statistics 6:2, 1979).

    Among those below 0.05, the probability of any false alarm is at most 5 %.
    """
    order = _order(p_values)
    adjusted = [0.0] * len(order)
    reached = 0.0
    for rank, place in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = reached
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values by Benjamini & Hochberg's step-up procedure (JRSS B 57:1, 1995).

    Of those below 0.05, at most 5 % are false alarms on average: for searching many slices, not for a gate.
    """
    order = _order(p_values)
    adjusted = [0.0] * len(order)
    reached = 1.0
    for rank in range(len(order), 0, -1):
        place = order[rank - 1]
        reached = min(reached, p_values[place] * len(order) / rank)
        adjusted[place] = reached
    return tuple(adjusted)


def _order(p_values: Sequence[float]) -> list[int]:
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value must be between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
