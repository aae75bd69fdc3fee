"""Many tests at once: p-values adjusted so that one may read each against the usual 5 %."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values adjusted by Holm's step-down procedure (Scandinavian Journal of Statistics 6:2, 1979).

    With those below 0.05 called real, the chance that any of them is a false alarm is at most 5 %.
    """
    order = _order(p_values)
    adjusted = [0.0] * len(order)
    reached = 0.0
    for rank, place in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = reached
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values adjusted by Benjamini & Hochberg's step-up procedure (JRSS B 57:1, 1995).

    Of those below 0.05, at most 5 % are false alarms on average: for looking through many slices, not for a gate.
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
        raise ValueError("a p-value lies between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)
