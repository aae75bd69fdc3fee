"""Adjusted p-values and e-values for many tests at once; each can be compared with the usual 5 %, or with 20."""

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


def closed_e_values(e_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust e-values by closed testing with arithmetic means (Vovk & Wang, Annals of Statistics 49:3, 2021, §5).

    An e-value is reduced to the smallest mean of any set that it belongs to. Among the adjusted e-values of 20 or more,
    the probability of any false alarm is at most 5 %, however they depend on each other; where each is the present
    value of an e-process, at all looks together. Changes that many figures show at once cost almost nothing.
    """
    if any(not value >= 0 for value in e_values):
        raise ValueError("an e-value must be 0 or above")
    ordered = sorted(range(len(e_values)), key=e_values.__getitem__)
    adjusted = [0.0] * len(e_values)
    for place, value in enumerate(e_values):
        total, smallest = value, value
        for count, other in enumerate((index for index in ordered if index != place), 2):
            total += e_values[other]
            smallest = min(smallest, total / count)
        adjusted[place] = smallest
    return tuple(adjusted)


def _order(p_values: Sequence[float]) -> list[int]:
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value must be between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
