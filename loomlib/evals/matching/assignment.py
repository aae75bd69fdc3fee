"""Who is whose: as many of the expected calls as possible, each with a call of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def assign(wanted: int, offered: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """A largest possible assignment of `range(wanted)` to `range(offered)`, each taken once.

    Taking the first that fits is not enough where an expectation fits several (a matcher, no arguments): the one that
    fits less would find its only partner taken. Augmenting paths (Kuhn, 1955), with a loop in place of recursion.
    Earlier expectations prefer earlier offers.
    """
    known: dict[int, list[int]] = {}

    def candidates(i: int) -> list[int]:
        if i not in known:
            known[i] = [j for j in range(offered) if fits(i, j)]
        return known[i]

    owner: dict[int, int] = {}
    for i in range(wanted):
        free = next((j for j in candidates(i) if j not in owner), None)
        if free is not None:
            owner[free] = i
        else:
            _augment(i, candidates, owner)
    return {i: j for j, i in sorted(owner.items(), key=lambda pair: pair[1])}


def _augment(start: int, candidates: Callable[[int], Iterable[int]], owner: dict[int, int]) -> bool:
    came_from: dict[int, int] = {}
    waiting = [start]
    while waiting:
        i = waiting.pop()
        for j in candidates(i):
            if j in came_from:
                continue
            came_from[j] = i
            if j not in owner:
                _hand_over(j, start, came_from, owner)
                return True
            waiting.append(owner[j])
    return False


def _hand_over(free: int, start: int, came_from: dict[int, int], owner: dict[int, int]) -> None:
    """Walks back: each one on the path takes the offer through which it was reached."""
    j = free
    while True:
        i = came_from[j]
        before = next((held for held, who in owner.items() if who == i), None)
        owner[j] = i
        if i == start or before is None:
            return
        j = before
        del owner[j]
