"""Maximum matching: as many expected calls as possible, each assigned to its own actual call."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def assign(expectations: int, calls: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """Return a maximum matching: the index of a call by the index of the expectation that it is assigned to.

    Taking the first that fits is not enough where an expectation fits several calls (a matcher, no arguments). Uses
    augmenting paths (Kuhn, 1955), iteratively. Earlier expectations prefer earlier calls.

    Args:
        expectations: The number of expectations.
        calls: The number of calls.
        fits: Whether expectation i fits call j.
    """
    edges: dict[int, list[int]] = {}

    def candidates(i: int) -> list[int]:
        if i not in edges:
            edges[i] = [j for j in range(calls) if fits(i, j)]
        return edges[i]

    owner: dict[int, int] = {}
    for i in range(expectations):
        free = next((j for j in candidates(i) if j not in owner), None)
        if free is not None:
            owner[free] = i
        else:
            _augment(i, candidates, owner)
    return {i: j for j, i in sorted(owner.items(), key=lambda pair: pair[1])}


def _augment(start: int, candidates: Callable[[int], Iterable[int]], owner: dict[int, int]) -> bool:
    previous: dict[int, int] = {}
    waiting = [start]
    while waiting:
        i = waiting.pop()
        for j in candidates(i):
            if j in previous:
                continue
            previous[j] = i
            if j not in owner:
                _reassign(j, start, previous, owner)
                return True
            waiting.append(owner[j])
    return False


def _reassign(free: int, start: int, previous: dict[int, int], owner: dict[int, int]) -> None:
    """Walk back along the augmenting path and reassign each call on it."""
    j = free
    while True:
        i = previous[j]
        earlier_call = next((call for call, expectation in owner.items() if expectation == i), None)
        owner[j] = i
        if i == start or earlier_call is None:
            return
        j = earlier_call
        del owner[j]
